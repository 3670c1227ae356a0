/* Private copies of the rows of the most frequent words, one for each thread, and how they are merged.
 *
 * Threads that write the same cache lines slow each other down; each therefore works on its own copy of the rows
 * that all threads need most often (docs/decisions/004-private-rows.md).
 */
#ifndef SGNS_PRIVATE_ROWS_H
#define SGNS_PRIVATE_ROWS_H

#include "sgns.h"

#if defined(_WIN32)
__declspec(dllimport) int __stdcall SwitchToThread(void); /* windows.h would bring thousands of names along */
#define GIVE_WAY() SwitchToThread()
#else
#include <sched.h>
#define GIVE_WAY() sched_yield()
#endif

/* Adds this thread's delta since the last merge to the shared rows, and takes over the result. */
static void merge_rows(const Rows *rows, int64_t n_rows)
{
    int64_t n = n_rows * rows->stride;
    for (int64_t k = 0; k < n; k++) {
        float sum = rows->shared[k] + (rows->private[k] - rows->base[k]);
        rows->shared[k] = rows->private[k] = rows->base[k] = sum;
    }
}

static void merge(const Task *task)
{
    const Hyper *p = task->hyper;
    if (p->n_private == 0)
        return;
    while (__atomic_exchange_n(task->lock, 1, __ATOMIC_ACQUIRE))
        GIVE_WAY();
    merge_rows(&task->inputs, p->n_private);
    if (p->drawn)
        merge_rows(&task->outputs, p->n_private);
    if (p->longest_path)
        merge_rows(&task->nodes, p->n_private);
    if (p->word_stride)
        merge_rows(&task->word_logits, p->n_private);
    if (p->use_slots)
        merge_rows(&task->slot_logits, 1);
    __atomic_store_n(task->lock, 0, __ATOMIC_RELEASE);
}

#endif
