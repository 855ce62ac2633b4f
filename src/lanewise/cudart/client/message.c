/* Fields of a request or a reply. All integers are u64, little-endian as on every machine CUDA runs on. */
#include "lanewise.h"

#include <stdlib.h>
#include <string.h>

static void append(Message *message, const void *data, size_t size) {
    if (message->size + size > message->capacity) {
        size_t capacity = (message->size + size) * 2 + 64;
        unsigned char *larger = realloc(message->data, capacity);
        if (!larger) {
            message->failed = true;
            return;
        }
        message->data = larger;
        message->capacity = capacity;
    }
    if (size) memcpy(message->data + message->size, data, size);
    message->size += size;
}

void lw_put_u64(Message *message, uint64_t value) { append(message, &value, sizeof value); }

void lw_put_bytes(Message *message, const void *data, size_t size) {
    lw_put_u64(message, size);
    append(message, data, size);
}

void lw_put_text(Message *message, const char *text) { lw_put_bytes(message, text, strlen(text)); }

void lw_release(Message *message) {
    free(message->data);
    memset(message, 0, sizeof *message);
}

uint64_t lw_get_u64(Reader *reader) {
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < sizeof value) {
        reader->failed = true;
        return 0;
    }
    memcpy(&value, reader->at, sizeof value);
    reader->at += sizeof value;
    return value;
}

const void *lw_get_bytes(Reader *reader, size_t *size) {
    *size = lw_get_u64(reader);
    const void *data = reader->at;
    if (reader->failed || (size_t)(reader->end - reader->at) < *size) {
        reader->failed = true;
        *size = 0;
        return NULL;
    }
    reader->at += *size;
    return data;
}
