/* Handles of streams, events and pools: addresses in one reserved table, so that a wrong one is found out unread. */
#include "lanewise.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST = 1 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Handle *table; /* reserved, touched page by page */
static size_t used, lowest_free;
static uint64_t numbers[8];

Handle *lw_new_handle(int kind) {
    Handle *made = NULL;
    pthread_mutex_lock(&lock);
    if (!table) {
        void *at = mmap(NULL, MOST * sizeof *table, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at != MAP_FAILED) table = at;
    }
    while (table && lowest_free < used && table[lowest_free].kind) lowest_free++;
    if (table && lowest_free < MOST) {
        made = &table[lowest_free];
        if (lowest_free == used) used++;
        memset(made, 0, sizeof *made);
        made->kind = kind;
        made->number = ++numbers[kind];
    }
    pthread_mutex_unlock(&lock);
    return made;
}

Handle *lw_handle(const void *pointer, int kind) {
    uintptr_t offset = (uintptr_t)pointer - (uintptr_t)table;
    if (!table || offset >= used * sizeof *table || offset % sizeof *table) return NULL;
    Handle *handle = &table[offset / sizeof *table];
    return handle->kind == kind ? handle : NULL;
}

void lw_delete_handle(Handle *handle) {
    pthread_mutex_lock(&lock);
    free(handle->tails.nodes);
    handle->tails = (Tails){0};
    handle->kind = 0;
    if ((size_t)(handle - table) < lowest_free) lowest_free = (size_t)(handle - table);
    pthread_mutex_unlock(&lock);
}

void lw_end_capture(const void *graph) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < used; i++)
        if (table[i].capture == graph) {
            table[i].capture = NULL;
            table[i].tails.count = 0;
        }
    pthread_mutex_unlock(&lock);
}

void lw_delete_all_handles(void) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < used; i++) table[i].kind = 0;
    lowest_free = 0;
    pthread_mutex_unlock(&lock);
}
