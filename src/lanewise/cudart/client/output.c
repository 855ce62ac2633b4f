/* What kernels print goes to the program's own stdout when the program next waits for the device, as on the card; and
 * at its end, where the card would lose it. */
#include "lanewise.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *kept;
static size_t kept_size;

void lw_keep_output(const void *text, size_t size) {
    if (!size) return;
    pthread_mutex_lock(&lock);
    char *larger = realloc(kept, kept_size + size);
    if (larger) {
        memcpy(larger + kept_size, text, size);
        kept = larger;
        kept_size += size;
    }
    pthread_mutex_unlock(&lock);
}

void lw_flush_output(void) {
    pthread_mutex_lock(&lock);
    char *text = kept;
    size_t size = kept_size;
    kept = NULL;
    kept_size = 0;
    pthread_mutex_unlock(&lock);
    if (size) fwrite(text, 1, size, stdout);
    free(text);
}
