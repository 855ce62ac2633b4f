/* What nvcc's code registers before main: images of device code, kernels and variables. Sent when first needed. */
#include "lanewise.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The wrapper that nvcc's code passes. Version 2 is of separate compilation: `images` then lists the images that were
 * linked, each ending in its PTX, and `data` is the linked machine code. */
typedef struct {
    int magic, version;
    const void *data;
    void *const *images;
} Wrapper;

typedef struct {
    uint32_t magic; /* 0xBA55ED50 */
    uint16_t version, header_size;
    uint64_t size; /* of what follows the header */
} ImageHeader;

struct Module {
    const Wrapper *wrapper;
    uint64_t number; /* the server's; 0: not sent yet */
    cudaError_t error;
    Module *next;
};

enum { BUCKETS = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* taken before the connection's */
static Module *modules;
static Kernel *kernels[BUCKETS];
static Symbol *symbols[BUCKETS];
static bool unloading;

static size_t bucket(const void *pointer) { return ((uintptr_t)pointer >> 2) * 0x9E3779B97F4A7C15u >> 52; }

API void **__cudaRegisterFatBinary(void *wrapper) {
    Module *module = calloc(1, sizeof *module);
    module->wrapper = wrapper;
    pthread_mutex_lock(&lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&lock);
    return (void **)module;
}

API void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

API void __cudaUnregisterFatBinary(void **handle) {
    (void)handle;
    if (!unloading) lw_flush_output();
    unloading = true;
}

API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
                                uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp_size) {
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp_size;
    Kernel *kernel = calloc(1, sizeof *kernel);
    kernel->host = host;
    kernel->name = name;
    kernel->module = (Module *)handle;
    pthread_mutex_lock(&lock);
    kernel->next = kernels[bucket(host)];
    kernels[bucket(host)] = kernel;
    pthread_mutex_unlock(&lock);
}

static void register_symbol(void **handle, const void *host, const char *name, void **managed) {
    Symbol *symbol = calloc(1, sizeof *symbol);
    symbol->host = host;
    symbol->name = name;
    symbol->module = (Module *)handle;
    symbol->managed = managed;
    pthread_mutex_lock(&lock);
    symbol->next = symbols[bucket(host)];
    symbols[bucket(host)] = symbol;
    pthread_mutex_unlock(&lock);
}

API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
                           int constant, int global) {
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    register_symbol(handle, host, name, NULL);
}

API void __cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name, int external,
                                  size_t size, int constant, int global) {
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    register_symbol(handle, pointer, name, pointer);
}

static void put_image(Message *request, const void *image) {
    const ImageHeader *header = image;
    bool known = header->magic == 0xBA55ED50;
    lw_put_bytes(request, image, known ? header->header_size + header->size : 0);
}

/* {linked, number of images, images, number of managed names, names} -> {module} */
static cudaError_t load_locked(Module *module) {
    if (module->number || module->error) return module->error;
    Message request = {0}, reply = {0};
    const Wrapper *wrapper = module->wrapper;
    uint64_t images = 1, managed = 0;
    bool linked = wrapper->version == 2 && wrapper->images;
    if (linked)
        while (wrapper->images[images - 1]) images++;
    lw_put_u64(&request, linked);
    lw_put_u64(&request, images);
    put_image(&request, wrapper->data);
    for (uint64_t i = 0; i + 1 < images; i++) put_image(&request, wrapper->images[i]);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < BUCKETS; i++)
            for (Symbol *symbol = symbols[i]; symbol; symbol = symbol->next)
                if (symbol->managed && symbol->module == module) {
                    if (pass) lw_put_text(&request, symbol->name);
                    else managed++;
                }
        if (!pass) lw_put_u64(&request, managed);
    }
    Reader reader;
    cudaError_t error = lw_call_reader(OP_LOAD, &request, &reply, &reader);
    if (error == cudaSuccess) module->number = lw_get_u64(&reader);
    else if (error != cudaErrorInitializationError) module->error = error;
    lw_release(&reply);
    return error;
}

/* {module, name} -> {function, attributes, number of parameters, {offset, size}...} */
static cudaError_t resolve_kernel(Kernel *kernel) {
    cudaError_t error = load_locked(kernel->module);
    if (error != cudaSuccess) return error;
    Message request = {0}, reply = {0};
    Reader reader;
    lw_put_u64(&request, kernel->module->number);
    lw_put_text(&request, kernel->name);
    error = lw_call_reader(OP_FUNCTION, &request, &reply, &reader);
    if (error == cudaSuccess) {
        uint64_t function = lw_get_u64(&reader);
        struct cudaFuncAttributes *a = &kernel->attributes;
        a->numRegs = (int)lw_get_u64(&reader);
        a->sharedSizeBytes = lw_get_u64(&reader);
        a->localSizeBytes = lw_get_u64(&reader);
        a->constSizeBytes = lw_get_u64(&reader);
        a->maxThreadsPerBlock = (int)lw_get_u64(&reader);
        a->maxDynamicSharedSizeBytes = (int)lw_get_u64(&reader);
        a->ptxVersion = (int)lw_get_u64(&reader);
        a->binaryVersion = (int)lw_get_u64(&reader);
        a->preferredShmemCarveout = -1;
        kernel->param_count = lw_get_u64(&reader);
        free(kernel->params);
        kernel->params = calloc(kernel->param_count + 1, sizeof *kernel->params);
        kernel->params_size = 0;
        for (size_t i = 0; i < kernel->param_count && !reader.failed; i++) {
            kernel->params[i].offset = lw_get_u64(&reader);
            kernel->params[i].size = lw_get_u64(&reader);
            kernel->params_size = kernel->params[i].offset + kernel->params[i].size;
        }
        a->requiredClusterWidth = (int)lw_get_u64(&reader);
        a->requiredClusterHeight = (int)lw_get_u64(&reader);
        a->requiredClusterDepth = (int)lw_get_u64(&reader);
        a->clusterDimMustBeSet = a->requiredClusterWidth > 0;
        if (reader.failed) error = cudaErrorUnknown;
        else kernel->function = function;
    }
    lw_release(&reply);
    return error;
}

cudaError_t lw_kernel(const void *function, Kernel **found) {
    pthread_mutex_lock(&lock);
    Kernel *kernel = kernels[bucket(function)];
    while (kernel && kernel->host != function) kernel = kernel->next;
    cudaError_t error = cudaErrorInvalidResourceHandle;
    if (kernel) error = kernel->function ? cudaSuccess : resolve_kernel(kernel);
    pthread_mutex_unlock(&lock);
    *found = kernel;
    return error;
}

cudaError_t lw_symbol(const void *host, uint64_t *address, size_t *size) {
    cudaError_t error = cudaErrorInvalidSymbol;
    if (lw_in_arena(host)) { /* a managed variable: in host code its name is its address */
        Allocation a;
        if (!lw_find_allocation((uint64_t)host, &a) || a.base != (uint64_t)host) return error;
        *address = a.base;
        *size = a.size;
        return cudaSuccess;
    }
    pthread_mutex_lock(&lock);
    Symbol *symbol = symbols[bucket(host)];
    while (symbol && symbol->host != host) symbol = symbol->next;
    if (symbol) error = symbol->size ? cudaSuccess : load_locked(symbol->module);
    if (symbol && !symbol->size && error == cudaSuccess) {
        Message request = {0}, reply = {0};
        Reader reader;
        lw_put_u64(&request, symbol->module->number);
        lw_put_text(&request, symbol->name);
        error = lw_call_reader(OP_SYMBOL, &request, &reply, &reader);
        if (error == cudaSuccess) {
            symbol->address = lw_get_u64(&reader);
            symbol->size = lw_get_u64(&reader);
            Allocation allocation = {.base = symbol->address, .size = symbol->size, .id = lw_get_u64(&reader),
                                     .kind = symbol->managed ? KIND_MANAGED : KIND_GLOBAL, .made_by = symbol->name};
            lw_add_allocation(&allocation);
            if (symbol->managed) {
                lw_open_to_host(symbol->address, symbol->size, true);
                *symbol->managed = (void *)symbol->address;
            }
        }
        lw_release(&reply);
    }
    if (error == cudaSuccess) {
        *address = symbol->address;
        *size = symbol->size;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* nvcc's code calls this before host code first uses a managed variable of the module. */
API char __cudaInitModule(void **handle) {
    if (!lw_connect()) return 0;
    for (size_t i = 0; i < BUCKETS; i++)
        for (Symbol *symbol = symbols[i]; symbol; symbol = symbol->next)
            if (symbol->managed && symbol->module == (Module *)handle) {
                uint64_t address;
                size_t size;
                cudaError_t error = lw_symbol(symbol->host, &address, &size);
                if (error != cudaSuccess)
                    lw_complain("lanewise: the managed variable %s cannot be set up: %s", symbol->name,
                                cudaGetErrorString(error));
            }
    return 1;
}

API cudaError_t __cudaGetKernel(cudaKernel_t *handle, const void *function) {
    /* Called once for each kernel by nvcc's code, before the device is needed: nothing is sent here. */
    pthread_mutex_lock(&lock);
    Kernel *kernel = kernels[bucket(function)];
    while (kernel && kernel->host != function) kernel = kernel->next;
    pthread_mutex_unlock(&lock);
    REQUIRE(kernel, cudaErrorInvalidResourceHandle);
    *handle = (cudaKernel_t)kernel->host; /* the stub's address is as good a handle, and stays valid */
    return cudaSuccess;
}

API cudaError_t cudaGetKernel(cudaKernel_t *handle, const void *function) {
    ENTER();
    REQUIRE(handle, cudaErrorInvalidValue);
    return __cudaGetKernel(handle, function);
}

API cudaError_t cudaGetFuncBySymbol(cudaFunction_t *handle, const void *function) {
    return cudaGetKernel((cudaKernel_t *)handle, function);
}

API cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol) {
    uint64_t address;
    size_t size;
    ENTER();
    REQUIRE(pointer, cudaErrorInvalidValue);
    cudaError_t error = lw_symbol(symbol, &address, &size);
    if (error == cudaSuccess) *pointer = (void *)address;
    return lw_return(error);
}

API cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
    uint64_t address;
    ENTER();
    REQUIRE(size, cudaErrorInvalidValue);
    return lw_return(lw_symbol(symbol, &address, size));
}

void lw_forget_modules(void) {
    pthread_mutex_lock(&lock);
    for (Module *module = modules; module; module = module->next) module->number = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (Kernel *kernel = kernels[i]; kernel; kernel = kernel->next) kernel->function = 0;
        for (Symbol *symbol = symbols[i]; symbol; symbol = symbol->next) symbol->size = 0;
    }
    pthread_mutex_unlock(&lock);
}
