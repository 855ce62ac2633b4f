/* Host code that touches device memory: say so, then let the signal do what it would have done.
 *
 * On the card such an access is a bare segmentation fault. */
#include "lanewise.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

static struct sigaction previous_segv, previous_bus;

static const char *verb(void *context) {
#if defined(__x86_64__)
    return ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? "wrote" : "read";
#else
    (void)context;
    return "touched";
#endif
}

#define OF(a) (unsigned long long)(address - a.base), (unsigned long long)a.id, (unsigned long long)a.size, a.made_by

/* Puts the sentence into `text` and returns the number of the allocation, 0 where there is none. */
static uint64_t describe(uint64_t address, const char *did, char *text, size_t size) {
    Allocation a = {0};
    int at = snprintf(text, size, "host code %s device memory at %#llx", did, (unsigned long long)address);
    if (lw_find_known(address, &a))
        snprintf(text + at, size - at, ", byte %llu of allocation %llu: %llu bytes made by %s", OF(a));
    else if (lw_find_freed(address, &a))
        snprintf(text + at, size - at, ", byte %llu of allocation %llu: %llu bytes made by %s, freed since", OF(a));
    else
        snprintf(text + at, size - at, ", which is in no allocation of this process");
    return a.id;
}

static const void *instruction(void *context) {
#if defined(__x86_64__)
    return (const void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (const void *)((ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

/* {allocation, where the file begins, instruction, file of the instruction and sentence, each ending in a zero} */
static void tell(uint64_t address, void *context) {
    struct {
        uint64_t id, base, instruction;
        char text[LW_PATH + 512];
    } said;
    said.instruction = (uint64_t)instruction(context);
    said.base = lw_file_of(instruction(context), said.text);
    char *sentence = said.text + strlen(said.text) + 1;
    said.id = describe(address, verb(context), sentence, 512);
    lw_complain("lanewise: %s\n  next: copy it to the host with cudaMemcpy, or allocate it with cudaMallocManaged",
                sentence);
    lw_try_call(OP_TOUCH, &said, (size_t)(sentence + strlen(sentence) + 1 - (char *)&said));
}

static void handler(int number, siginfo_t *info, void *context) {
    struct sigaction *previous = number == SIGSEGV ? &previous_segv : &previous_bus;
    if (info->si_code > 0 && lw_in_arena(info->si_addr)) tell((uint64_t)info->si_addr, context);
    /* The instruction runs again when this returns, and then whoever was there before gets the signal. */
    sigaction(number, previous, NULL);
    if (info->si_code <= 0) raise(number); /* it was sent by kill, raise: it does not come again by itself */
}

void lw_install_touch_handler(void) {
    struct sigaction mine;
    memset(&mine, 0, sizeof mine);
    mine.sa_sigaction = handler;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&mine.sa_mask);
    struct sigaction there;
    if (sigaction(SIGSEGV, NULL, &there) == 0 && !((there.sa_flags & SA_SIGINFO) && there.sa_sigaction == handler)) {
        sigaction(SIGSEGV, &mine, &previous_segv);
        sigaction(SIGBUS, &mine, &previous_bus);
    }
}
