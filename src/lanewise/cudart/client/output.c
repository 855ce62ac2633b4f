/* What kernels print (and the messages of failed assertions) goes to the program's own stdout and stderr when the
 * program next waits for the device, as on the card; and at its end, where the card would lose it. */
#include "lanewise.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *kept[2];
static size_t kept_size[2];

void lw_keep_output(int to, const void *text, size_t size) {
    if (!size) return;
    int which = to == STDERR_FILENO;
    pthread_mutex_lock(&lock);
    char *larger = realloc(kept[which], kept_size[which] + size);
    if (larger) {
        memcpy(larger + kept_size[which], text, size);
        kept[which] = larger;
        kept_size[which] += size;
    }
    pthread_mutex_unlock(&lock);
}

void lw_flush_output(void) {
    for (int which = 0; which < 2; which++) {
        pthread_mutex_lock(&lock);
        char *text = kept[which];
        size_t size = kept_size[which];
        kept[which] = NULL;
        kept_size[which] = 0;
        pthread_mutex_unlock(&lock);
        if (size) fwrite(text, 1, size, which ? stderr : stdout);
        free(text);
    }
}
