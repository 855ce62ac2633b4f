/* The device as the program sees it: one device, its properties given by the emulator's process. */
#include "lanewise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTRIBUTES = 256, LIMITS = 7 };

static struct cudaDeviceProp properties;
static int attributes[ATTRIBUTES];
static bool attribute_known[ATTRIBUTES];
static int driver_version;
static uint64_t limits[LIMITS];
static _Thread_local unsigned device_flags;

const struct cudaDeviceProp *lw_properties(void) { return &properties; }
int lw_attribute(enum cudaDeviceAttr attribute) { return attributes[attribute]; }

static const struct {
    const char *name;
    size_t offset, size, count;
} fields[] = {
#define FIELD(name, count) {#name, offsetof(struct cudaDeviceProp, name), sizeof properties.name, count},
#include "property_fields.h" /* generated */
};

static void set_field(const char *name, size_t name_size, const uint64_t *values, size_t count) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strlen(fields[i].name) != name_size || memcmp(fields[i].name, name, name_size)) continue;
        size_t width = fields[i].size / fields[i].count;
        for (size_t k = 0; k < count && k < fields[i].count; k++)
            memcpy((char *)&properties + fields[i].offset + k * width, &values[k], width);
    }
}

/* {driver version, name, number of fields, {name, count, values...}..., number of attributes, {number, value}...,
 * number of limits, values..., nanoseconds of an event, bytes of a copy between host and device in a microsecond} */
void lw_read_properties(Reader *reader) {
    driver_version = (int)lw_get_u64(reader);
    size_t size;
    const char *text = lw_get_bytes(reader, &size);
    if (size >= sizeof properties.name) size = sizeof properties.name - 1;
    if (size) memcpy(properties.name, text, size);
    for (uint64_t left = lw_get_u64(reader); left && !reader->failed; left--) {
        uint64_t values[8] = {0};
        text = lw_get_bytes(reader, &size);
        uint64_t count = lw_get_u64(reader);
        for (uint64_t i = 0; i < count && i < 8; i++) values[i] = lw_get_u64(reader);
        if (text) set_field(text, size, values, count);
    }
    for (uint64_t left = lw_get_u64(reader); left && !reader->failed; left--) {
        uint64_t number = lw_get_u64(reader), value = lw_get_u64(reader);
        if (number < ATTRIBUTES) {
            attributes[number] = (int)value;
            attribute_known[number] = true;
        }
    }
    uint64_t count = lw_get_u64(reader);
    for (uint64_t i = 0; i < count && i < LIMITS && !reader->failed; i++) limits[i] = lw_get_u64(reader);
    lw_set_event_time(lw_get_u64(reader));
    lw_set_bus(lw_get_u64(reader));
}

/* A program may ask what there is even after a fault. */
static cudaError_t there(void) { return lw_connect() ? cudaSuccess : cudaErrorNoDevice; }
#define THERE() do { if (there() != cudaSuccess) return lw_return(cudaErrorNoDevice); } while (0)

API cudaError_t cudaGetDeviceCount(int *count) {
    REQUIRE(count, cudaErrorInvalidValue);
    *count = 0;
    THERE();
    *count = 1;
    return cudaSuccess;
}

API cudaError_t cudaGetDevice(int *device) {
    THERE();
    REQUIRE(device, cudaErrorInvalidValue);
    *device = 0;
    return cudaSuccess;
}

API cudaError_t cudaSetDevice(int device) {
    THERE();
    REQUIRE(device == 0, cudaErrorInvalidDevice);
    return lw_enter();
}

API cudaError_t cudaInitDevice(int device, unsigned device_flags_, unsigned flags) {
    (void)device_flags_, (void)flags;
    return cudaSetDevice(device);
}

API cudaError_t cudaSetValidDevices(int *devices, int count) {
    THERE();
    for (int i = 0; i < count; i++) REQUIRE(devices && devices[i] == 0, cudaErrorInvalidDevice);
    return cudaSuccess;
}

API cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) {
    REQUIRE(wanted, cudaErrorInvalidValue);
    return cudaGetDevice(device);
}

API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *wanted, int device) {
    THERE();
    REQUIRE(wanted, cudaErrorInvalidValue);
    REQUIRE(device == 0, cudaErrorInvalidDevice);
    *wanted = properties;
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    THERE();
    REQUIRE(value && (unsigned)attribute < ATTRIBUTES && attribute_known[attribute], cudaErrorInvalidValue);
    REQUIRE(device == 0, cudaErrorInvalidDevice);
    *value = attributes[attribute];
    return cudaSuccess;
}

API cudaError_t cudaSetDeviceFlags(unsigned flags) {
    THERE();
    device_flags = flags;
    return cudaSuccess;
}

API cudaError_t cudaGetDeviceFlags(unsigned *flags) {
    THERE();
    REQUIRE(flags, cudaErrorInvalidValue);
    *flags = device_flags | cudaDeviceMapHost;
    return cudaSuccess;
}

API cudaError_t cudaDeviceSynchronize(void) {
    ENTER();
    lw_drain_callbacks();
    lw_tell_order(ORDER_SYNC_DEVICE, NULL, 0);
    lw_flush_output();
    return lw_enter();
}

API cudaError_t cudaDeviceReset(void) {
    THERE();
    lw_drain_callbacks();
    lw_tell_order(ORDER_SYNC_DEVICE, NULL, 0);
    lw_flush_output();
    lw_clear_fault();
    lw_forget_registered();
    lw_forget_allocations();
    lw_forget_modules();
    lw_delete_all_handles();
    return lw_return(lw_call(OP_RESET, NULL, NULL));
}

API cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
    ENTER();
    REQUIRE((unsigned)limit < LIMITS, cudaErrorInvalidValue);
    REQUIRE(limit != cudaLimitDevRuntimeSyncDepth, cudaErrorUnsupportedLimit);
    Message request = {0};
    lw_put_u64(&request, limit);
    lw_put_u64(&request, value);
    cudaError_t error = lw_call(OP_SET_LIMIT, &request, NULL);
    if (error == cudaSuccess) limits[limit] = value;
    return lw_return(error);
}

API cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
    ENTER();
    REQUIRE(value && (unsigned)limit < LIMITS, cudaErrorInvalidValue);
    REQUIRE(limit != cudaLimitDevRuntimeSyncDepth, cudaErrorUnsupportedLimit);
    *value = limits[limit];
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config) {
    ENTER();
    REQUIRE(config, cudaErrorInvalidValue);
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
}

API cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) {
    (void)config;
    return lw_enter();
}

API cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config) {
    ENTER();
    REQUIRE(config, cudaErrorInvalidValue);
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}

API cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) {
    (void)config;
    return lw_enter();
}

API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    ENTER();
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int device) {
    THERE();
    REQUIRE(device == 0, cudaErrorInvalidDevice);
    REQUIRE(text && size > 12, cudaErrorInvalidValue);
    snprintf(text, (size_t)size, "%04x:%02x:%02x.0", properties.pciDomainID, properties.pciBusID,
             properties.pciDeviceID);
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text) {
    char own[32];
    cudaError_t error = cudaDeviceGetPCIBusId(own, sizeof own, 0);
    if (error != cudaSuccess) return error;
    REQUIRE(device && text, cudaErrorInvalidValue);
    REQUIRE(!strcmp(text, own), cudaErrorInvalidDevice);
    *device = 0;
    return cudaSuccess;
}

/* --- other devices: there are none */
API cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    THERE();
    REQUIRE(can, cudaErrorInvalidValue);
    REQUIRE(device == 0 && peer == 0, cudaErrorInvalidDevice);
    *can = 0;
    return cudaSuccess;
}

API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    (void)flags;
    ENTER();
    return lw_return(peer ? cudaErrorInvalidDevice : cudaErrorPeerAccessUnsupported);
}

API cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    (void)peer;
    ENTER();
    return lw_return(cudaErrorPeerAccessNotEnabled);
}

API cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int from, int to) {
    (void)value, (void)attribute, (void)from, (void)to;
    THERE();
    return lw_return(cudaErrorInvalidDevice);
}

API cudaError_t cudaCtxResetPersistingL2Cache(void) { return lw_enter(); }

/* --- versions */
API cudaError_t cudaDriverGetVersion(int *version) {
    REQUIRE(version, cudaErrorInvalidValue);
    *version = lw_connect() ? driver_version : 0;
    return cudaSuccess;
}

API cudaError_t cudaRuntimeGetVersion(int *version) {
    REQUIRE(version, cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}
