/* Host functions in a stream: they run in their order on a thread of their own, and whatever is issued after them in
 * any stream waits for them. */
#include "lanewise.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct Item {
    cudaHostFn_t function;
    cudaStreamCallback_t callback;
    cudaStream_t stream;
    void *data;
    struct Item *next;
} Item;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Item *first, **last = &first;
static bool started;
static pthread_t worker;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first) pthread_cond_wait(&changed, &lock);
        Item *item = first;
        pthread_mutex_unlock(&lock);
        if (item->function) item->function(item->data);
        else item->callback(item->stream, cudaSuccess, item->data);
        pthread_mutex_lock(&lock);
        first = item->next;
        if (!first) last = &first;
        free(item);
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

static cudaError_t queue(Item item) {
    Item *made = malloc(sizeof *made);
    if (!made) return cudaErrorMemoryAllocation;
    *made = item;
    made->next = NULL;
    pthread_mutex_lock(&lock);
    cudaError_t error = cudaSuccess;
    if (!started) {
        if (pthread_create(&worker, NULL, work, NULL) != 0) error = cudaErrorOperatingSystem;
        else pthread_detach(worker), started = true;
    }
    if (error == cudaSuccess) {
        *last = made;
        last = &made->next;
        pthread_cond_broadcast(&changed);
    } else {
        free(made);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

void lw_drain_callbacks(void) {
    if (!started) return;
    pthread_mutex_lock(&lock);
    if (!pthread_equal(pthread_self(), worker))
        while (first) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

cudaError_t lw_do_host(const Work *work, cudaStream_t stream) {
    lw_tell_order(ORDER_SYNC_STREAM, stream, 0); /* it may tell the program's threads, in ways that are not seen here */
    return queue((Item){.function = work->host.function, .callback = work->host.callback, .stream = stream,
                        .data = work->host.data});
}

API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    ENTER();
    REQUIRE(function, cudaErrorInvalidValue);
    REQUIRE(lw_check_stream(stream) == cudaSuccess, cudaErrorInvalidResourceHandle);
    lw_flush_output();
    Work work = {.type = cudaGraphNodeTypeHost, .host = {.function = function, .data = data}};
    return lw_return(lw_issue(&work, stream));
}
SECOND_NAME(cudaLaunchHostFunc, _ptsz)

API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
                                      unsigned flags) {
    ENTER();
    REQUIRE(callback && !flags, cudaErrorInvalidValue);
    REQUIRE(lw_check_stream(stream) == cudaSuccess, cudaErrorInvalidResourceHandle);
    lw_flush_output();
    Work work = {.type = cudaGraphNodeTypeHost, .host = {.callback = callback, .data = data}};
    return lw_return(lw_issue(&work, stream));
}
SECOND_NAME(cudaStreamAddCallback, _ptsz)
