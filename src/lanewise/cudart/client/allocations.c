/* The allocations of this process by address: what pointers are checked against. */
#include "lanewise.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FREED_KEPT = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Allocation *table; /* sorted by base */
static size_t count, capacity;
static Allocation freed[FREED_KEPT]; /* a ring of the last ones */
static size_t freed_count;

/* The index of the last allocation that begins at or before the address, or -1. */
static ptrdiff_t index_of(uint64_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table[middle].base <= address) low = middle + 1;
        else high = middle;
    }
    return (ptrdiff_t)low - 1;
}

void lw_add_allocation(const Allocation *allocation) {
    pthread_mutex_lock(&lock);
    if (count == capacity) {
        size_t larger = capacity ? capacity * 2 : 64;
        Allocation *moved = realloc(table, larger * sizeof *table);
        if (!moved) abort(); /* a host without memory for a table */
        table = moved;
        capacity = larger;
    }
    ptrdiff_t index = index_of(allocation->base);
    if (index >= 0 && table[index].base == allocation->base) {
        table[index] = *allocation;
    } else {
        memmove(table + index + 2, table + index + 1, (count - (size_t)(index + 1)) * sizeof *table);
        table[index + 1] = *allocation;
        count++;
    }
    pthread_mutex_unlock(&lock);
}

static bool find_locked(uint64_t address, Allocation *found) {
    ptrdiff_t index = index_of(address);
    if (index < 0 || address >= table[index].base + table[index].size) return false;
    *found = table[index];
    return true;
}

bool lw_find_known(uint64_t address, Allocation *found) {
    if (pthread_mutex_trylock(&lock) != 0) return false;
    bool there = find_locked(address, found);
    pthread_mutex_unlock(&lock);
    return there;
}

bool lw_find_allocation(uint64_t address, Allocation *found) {
    pthread_mutex_lock(&lock);
    bool there = find_locked(address, found);
    pthread_mutex_unlock(&lock);
    if (there) return true;
    /* Addresses of variables may come from a kernel; their allocations are the module's. */
    Message request = {0}, reply = {0};
    Reader reader;
    lw_put_u64(&request, address);
    if (lw_call_reader(OP_FIND, &request, &reply, &reader) == cudaSuccess) {
        *found = (Allocation){.base = lw_get_u64(&reader), .size = lw_get_u64(&reader), .id = lw_get_u64(&reader),
                              .kind = (int)lw_get_u64(&reader), .made_by = "a module"};
        there = !reader.failed;
        if (there) lw_add_allocation(found);
    }
    lw_release(&reply);
    return there;
}

bool lw_remove_allocation(uint64_t base, Allocation *removed) {
    pthread_mutex_lock(&lock);
    ptrdiff_t index = index_of(base);
    bool there = index >= 0 && table[index].base == base;
    if (there) {
        *removed = table[index];
        memmove(table + index, table + index + 1, (count - (size_t)index - 1) * sizeof *table);
        count--;
        freed[freed_count++ % FREED_KEPT] = *removed;
    }
    pthread_mutex_unlock(&lock);
    return there;
}

bool lw_find_freed(uint64_t address, Allocation *found) {
    size_t kept = freed_count < FREED_KEPT ? freed_count : FREED_KEPT;
    for (size_t i = 1; i <= kept; i++) {
        const Allocation *gone = &freed[(freed_count - i) % FREED_KEPT];
        if (address - gone->base < gone->size) {
            *found = *gone;
            return true;
        }
    }
    return false;
}

void lw_forget_allocations(void) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        if (table[i].kind == KIND_MANAGED || table[i].kind == KIND_HOST)
            lw_open_to_host(table[i].base, table[i].size, false);
        freed[freed_count++ % FREED_KEPT] = table[i];
    }
    count = 0;
    pthread_mutex_unlock(&lock);
}
