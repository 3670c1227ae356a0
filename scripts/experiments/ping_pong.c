/* Measures how long a cache line takes from one core to another: two threads add one to it in turn.
 *
 * cc -O2 -shared -fPIC -pthread ping_pong.c -o ping_pong.so
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

typedef struct {
    _Alignas(128) volatile int64_t turn;
    _Alignas(128) int64_t rounds;
    int cpus[2];
    double least;
} Table;

typedef struct {
    Table *table;
    int side;
} Player;

enum { LAP = 256 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static void *play(void *argument)
{
    Player *player = argument;
    Table *table = player->table;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(table->cpus[player->side], &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    double begin = now();
    for (int64_t turn = player->side; turn < table->rounds; turn += 2) {
        while (__atomic_load_n(&table->turn, __ATOMIC_ACQUIRE) != turn)
            ;
        __atomic_store_n(&table->turn, turn + 1, __ATOMIC_RELEASE);
        if (player->side == 0 && turn % LAP == 0 && turn) {
            double end = now();
            double each = (end - begin) / LAP;
            table->least = each < table->least ? each : table->least;
            begin = end;
        }
    }
    return 0;
}

/* Nanoseconds for one change of owner between two processors: the fastest lap, which was disturbed least. */
double ping_pong(int first, int second, int64_t rounds)
{
    Table table = {.turn = 0, .rounds = rounds, .cpus = {first, second}, .least = 1e9};
    Player players[2] = {{&table, 0}, {&table, 1}};
    pthread_t threads[2];
    for (int k = 0; k < 2; k++)
        pthread_create(&threads[k], 0, play, &players[k]);
    for (int k = 0; k < 2; k++)
        pthread_join(threads[k], 0);
    return table.least;
}
