/* What the files of the runtime library share. One library, linked into the user's program: C11, libc only.
 *
 * The program's calls are answered here where nothing but the program's own memory is needed (copies, streams,
 * events, errors), and by the emulator's process over a socket where it is (allocations, modules, launches).
 */
#ifndef LANEWISE_H
#define LANEWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "operations.h" /* generated: OP_..., PROTOCOL_VERSION */

#define API __attribute__((visibility("default")))
/* A call has a second name in programs compiled with --default-stream per-thread; order is the same here. */
#define SECOND_NAME(name, suffix) \
    extern __typeof(name) name##suffix __attribute__((alias(#name), visibility("default")));

/* --- messages: little-endian fields one after another, strings and blobs with a u64 length in front (message.c) */
typedef struct {
    unsigned char *data;
    size_t size, capacity;
    bool failed; /* no memory */
} Message;

typedef struct {
    const unsigned char *at, *end;
    bool failed; /* read past the end */
} Reader;

void lw_put_u64(Message *message, uint64_t value);
void lw_put_bytes(Message *message, const void *data, size_t size); /* with its length */
void lw_put_text(Message *message, const char *text);
void lw_release(Message *message);
uint64_t lw_get_u64(Reader *reader);
const void *lw_get_bytes(Reader *reader, size_t *size);

/* --- the connection (connection.c) */
/* Send a request and wait for its reply. A reply's payload is put into `reply` (release it) unless that is NULL. The
 * result is the call's own error; a kernel's fault is kept by errors.c. Frees `request`. */
cudaError_t lw_call(uint64_t operation, Message *request, Message *reply);
cudaError_t lw_call_reader(uint64_t operation, Message *request, Message *reply, Reader *reader);
bool lw_connect(void); /* true where this process has a connection, made now if need be */
/* For signal handlers: as lw_call, but gives up where another call is under way. */
bool lw_try_call(uint64_t operation, const void *payload, size_t size);
void lw_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- errors (errors.c) */
cudaError_t lw_enter(void);                  /* first line of a call: no connection or a sticky fault is returned */
cudaError_t lw_enter_stream(cudaStream_t s); /* as lw_enter, and what was queued in streams before has run */
cudaError_t lw_return(cudaError_t error);    /* last line of a call: remembers an error for cudaGetLastError */
void lw_set_fault(cudaError_t error);        /* a kernel failed: seen by the next call that enters */
void lw_clear_fault(void);
uint64_t lw_host_thread(void);               /* 0, 1, 2, ... in the order of their first call */
/* A request that breaks a rule: the report says which, and at which line of the program. Returns `error`. */
cudaError_t lw_refuse(cudaError_t error, const void *caller, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define ENTER() do { lw_come_from(CALLER); cudaError_t fault_ = lw_enter(); if (fault_ != cudaSuccess) return fault_; } while (0)
#define ENTER_STREAM(stream) \
    do { lw_come_from(CALLER); cudaError_t fault_ = lw_enter_stream(stream); if (fault_ != cudaSuccess) return fault_; } while (0)
#define REQUIRE(condition, error) do { if (!(condition)) return lw_return(error); } while (0)

/* --- the arena and the allocations in it (arena.c, allocations.c) */
enum { KIND_MALLOC, KIND_MANAGED, KIND_HOST, KIND_GLOBAL, KIND_DEVICE_MALLOC, KIND_ARRAY, KIND_TEXTURE, KIND_SURFACE };

typedef struct {
    uint64_t base, size, id;
    int kind;
    const char *made_by; /* the call: "cudaMalloc" */
    unsigned flags;
} Allocation;

bool lw_map_arena(int fd, uint64_t base, uint64_t size);
bool lw_in_arena(const void *pointer);
void *lw_alias(uint64_t address);                 /* where the host may touch the byte at a device address */
void lw_populate(void *where, size_t size);
/* follow.c: what a run with checks is told besides. What orders the work of streams is told only where the program makes
 * streams or graphs; `number`: of an event, of a node within its graph. */
enum { ORDER_WORK, ORDER_RECORD, ORDER_WAIT, ORDER_SYNC_STREAM, ORDER_SYNC_EVENT, ORDER_SYNC_DEVICE, ORDER_GRAPH,
       ORDER_NODE, ORDER_GRAPH_END };
void lw_tell_order(int what, cudaStream_t stream, uint64_t number);
void lw_tell_node(cudaStream_t stream, const size_t *after, size_t count);
bool lw_follows_order(void);
void lw_tell_copy(const void *to, const void *from, size_t size);
void lw_come_from(const void *caller); /* first line of a call: where in the program it was made */
const void *lw_came_from(void);
cudaError_t lw_tell_bad(cudaError_t error, const char *call, const void *to, const void *from, size_t size, int kind,
                        const void *caller);
uint64_t lw_arena_base(void);
uint64_t lw_arena_size(void);
int lw_arena_fd(void);
uint64_t lw_page(void);
bool lw_open_to_host(uint64_t address, uint64_t size, bool open); /* whole pages around a host-visible allocation */

void lw_add_allocation(const Allocation *allocation);
bool lw_find_allocation(uint64_t address, Allocation *found);       /* asks the server for what it does not know */
bool lw_find_known(uint64_t address, Allocation *found);            /* only what is known here; for signal handlers */
bool lw_remove_allocation(uint64_t base, Allocation *removed);
bool lw_find_freed(uint64_t address, Allocation *found);
void lw_forget_allocations(void);
void lw_install_touch_handler(void);

/* `caller`: the address that the call returns to, which tells the source line of it. */
cudaError_t lw_allocate(void **pointer, size_t size, int kind, const char *made_by, unsigned flags, const void *caller);
#define CALLER __builtin_return_address(0)
/* The file of the program or library that holds an address; returns where its first byte lies, 0 if there is none. */
enum { LW_PATH = 1024 };
uint64_t lw_file_of(const void *address, char path[LW_PATH]);
void lw_put_place(Message *request, const void *address);
/* `kinds`: bits of the kinds that may be freed so. Memory with the flag OF_A_GRAPH only goes with the same bit: graphs
 * may be launched again after the program has freed what they allocated. */
enum { OF_A_GRAPH = 1 << 30 };
cudaError_t lw_free(void *pointer, unsigned kinds);

/* --- host memory that was registered (register.c): the arena's address of a registered host address */
bool lw_registered(const void *pointer, size_t size, uint64_t *address, unsigned *flags);
void lw_forget_registered(void); /* before a reset */

/* --- modules (modules.c) */
typedef struct Module Module;
typedef struct Kernel {
    const void *host;      /* the stub's address */
    const char *name;      /* mangled, as in the PTX */
    Module *module;
    uint64_t function;     /* the server's number; 0 while unknown */
    size_t param_count, params_size;
    struct { size_t offset, size; } *params;
    struct cudaFuncAttributes attributes;
    struct Kernel *next;
} Kernel;

typedef struct Symbol {
    const void *host;
    const char *name;
    Module *module;
    uint64_t address, size; /* 0 while unknown */
    void **managed;         /* where the program keeps the pointer to a managed variable */
    struct Symbol *next;
} Symbol;

cudaError_t lw_kernel(const void *function, Kernel **kernel);   /* by stub or handle; resolved with the server */
/* The cluster that a launch names, or that was set on the kernel; zeros where neither. */
dim3 lw_cluster_of(const Kernel *kernel, const cudaLaunchConfig_t *config);
cudaError_t lw_symbol(const void *symbol, uint64_t *address, size_t *size);
void lw_forget_modules(void); /* after a reset: everything is looked up anew */

/* --- copies (copy.c) */
typedef enum { SIDE_ANY, SIDE_DEVICE } Side;
cudaError_t lw_resolve(const void *pointer, size_t size, Side side, char **where);
cudaError_t lw_sides(enum cudaMemcpyKind kind, Side *destination, Side *source);

/* --- arrays (arrays.c) */
typedef struct {
    int bits, channels; /* of one channel; how many */
    int kind;           /* cudaChannelFormatKindSigned, Unsigned or Float */
    bool normalized;    /* always read as a fraction */
} Format;

typedef struct {
    cudaArray_t handle;
    uint64_t base;
    struct cudaChannelFormatDesc format;
    Format parsed;
    struct cudaExtent extent; /* as the program gave it */
    unsigned flags;
    size_t element, row, rows, slices; /* bytes, bytes, rows of a slice, slices or layers */
    size_t pitch, slice;               /* bytes between rows, and between slices */
} Array;

Array *lw_array(cudaArray_const_t array); /* NULL where it is none */
/* Where the host may touch the byte `x` of a row, and how many bytes follow there. */
char *lw_array_run(const Array *array, size_t x, size_t y, size_t z, size_t *run);
const char *lw_format_problem(const struct cudaChannelFormatDesc *desc, Format *format); /* NULL: there is none */

/* --- work: one operation of a stream, done now or kept in a graph (work.c, launch.c, copy.c, set.c, callbacks.c) */
typedef struct {
    dim3 grid, block, cluster;
    size_t shared;
    bool cooperative;
} Shape;

/* Rows of bytes, the pitches apart; slices of rows, the slice pitches apart. Or a corner of an array. */
typedef struct {
    const void *pointer;
    size_t pitch, slice;
    const Array *array;
    size_t x, y, z;
} Block;

typedef struct Graph Graph;

typedef struct {
    enum cudaGraphNodeType type;
    const void *caller; /* of a graph's node: where in the program it was made */
    union {
        struct {
            const void *function;
            Shape shape;
            unsigned char *params; /* packed; owned */
            size_t params_size;
            void **args; /* pointers into `params`, one an argument; owned */
        } kernel;
        struct {
            Block to, from;
            struct cudaExtent extent;
            enum cudaMemcpyKind kind;
        } copy;
        struct {
            struct cudaMemsetParams params;
            size_t slice, depth;
        } set;
        struct {
            cudaHostFn_t function;
            cudaStreamCallback_t callback;
            void *data;
        } host;
        Graph *graph; /* owned */
        cudaEvent_t event;
        struct {
            void *pointer;
            unsigned *owners; /* how many graphs and instances hold the memory */
        } memory;
    };
} Work;

cudaError_t lw_issue(Work *work, cudaStream_t stream); /* do it, or add it to what the stream captures; takes it over */
cudaError_t lw_do(const Work *work, cudaStream_t stream);
void lw_release_work(Work *work);
cudaError_t lw_pack_kernel(Work *work, const void *function, const Shape *shape, void **args);
cudaError_t lw_do_kernel(const Work *work, cudaStream_t stream);
cudaError_t lw_do_copy(const Work *work);
cudaError_t lw_do_set(const Work *work);
cudaError_t lw_do_host(const Work *work, cudaStream_t stream);
cudaError_t lw_do_graph(const Graph *graph, cudaStream_t stream);
cudaError_t lw_allocate_work(Work *work, size_t size, const char *made_by, const void *caller);
cudaError_t lw_copy_work(Work *work, const struct cudaMemcpy3DParms *p); /* the error of parameters that do not fit */
void lw_copy_params(const Work *work, struct cudaMemcpy3DParms *p); /* what would make such work */
Work lw_line_work(void *to, const void *from, size_t count, enum cudaMemcpyKind kind);
bool lw_capturing(cudaStream_t stream);
Graph *lw_clone_graph(const Graph *graph);
void lw_delete_graph(Graph *graph);
cudaGraph_t lw_graph_handle(const Graph *graph);
cudaError_t lw_add_node(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const Work *work,
                        cudaGraphNode_t *made); /* takes the work over */
Work *lw_node_work(cudaGraphNode_t node);
Work *lw_instance_work(cudaGraphExec_t exec, cudaGraphNode_t node);

/* --- streams, events, callbacks, time (streams.c, callbacks.c, clock.c) */
cudaError_t lw_check_stream(cudaStream_t stream);
uint64_t lw_stream_number(cudaStream_t stream);
void lw_drain_callbacks(void);
enum { KERNELS, COPY_TO_DEVICE, COPY_TO_HOST }; /* what the device does at the same time */
cudaStream_t lw_work_in(cudaStream_t stream);    /* whose clock goes on, in this thread; returns the one before */
void lw_pass_time(uint64_t nanoseconds);
void lw_pass_time_of_copy(size_t bytes, int engine);
void lw_set_event_time(uint64_t nanoseconds);
void lw_set_bus(uint64_t bytes_per_us);
uint64_t lw_time_of_event(cudaStream_t stream); /* an event is recorded: the stream's clock in nanoseconds */
void lw_wait_until(cudaStream_t stream, uint64_t time);
void lw_record(cudaEvent_t event, cudaStream_t stream);

/* --- what kernels print (output.c): `to` is STDOUT_FILENO or STDERR_FILENO */
void lw_keep_output(int to, const void *text, size_t size);
void lw_flush_output(void);

/* --- the device (device.c) */
void lw_read_properties(Reader *reader);
int lw_attribute(enum cudaDeviceAttr attribute);
const struct cudaDeviceProp *lw_properties(void);

/* --- handles: streams, events, pools (handles.c). Numbers checked before use; a stale one is known for what it is. */
enum { HANDLE_STREAM = 1, HANDLE_EVENT, HANDLE_POOL, HANDLE_GRAPH, HANDLE_NODE, HANDLE_GRAPH_EXEC, HANDLE_ARRAY };
typedef struct Handle Handle;
typedef struct {
    Handle **nodes;
    size_t count;
} Tails;

struct Handle {
    int kind; /* 0: free */
    unsigned flags;
    int priority;
    uint64_t number; /* of a stream: its id */
    uint64_t time;   /* of an event: when it was recorded; of a stream: its clock */
    bool recorded;
    void *capture; /* of a stream or an event: the graph that it is captured into */
    Tails tails;   /* of one that captures: the nodes that what comes next comes after */
    void *data;    /* of graphs and what belongs to them, of arrays */
};
Handle *lw_new_handle(int kind);
Handle *lw_handle(const void *pointer, int kind); /* NULL where it is none of that kind */
void lw_delete_handle(Handle *handle);
void lw_delete_all_handles(void);
cudaError_t lw_append(Handle *stream, const Work *work); /* to the graph that it captures; takes the work over */
bool lw_add_tail(Tails *tails, Handle *node);            /* false: no memory */
bool lw_copy_tails(Tails *to, const Tails *from);        /* to what is there already */
void lw_end_capture(const void *graph); /* no stream and no event is in it any more */

#endif
