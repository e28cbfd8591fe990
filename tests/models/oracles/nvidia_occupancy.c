/* NVIDIA's own occupancy calculator, asked many questions at once.
 *
 * All the rules are in NVIDIA's header. What a device *is* the header takes as input: that table, below, is
 * from the CUDA Programming Guide (technical specifications per compute capability), not from course.cards.
 */
#include <limits.h>
#include <string.h>
#include "cuda_occupancy.h"

struct device { int major, minor, threads_per_sm, shared_kib, reserved; };

static const struct device DEVICES[] = {
    {7, 0, 2048, 96, 0},     {7, 5, 1024, 64, 0},     {8, 0, 2048, 164, 1024},  {8, 6, 1536, 100, 1024},
    {8, 9, 1536, 100, 1024}, {9, 0, 2048, 228, 1024}, {10, 0, 2048, 228, 1024}, {12, 0, 1536, 100, 1024},
};

enum { QUESTION = 7, ANSWER = 10 };

/* questions: device, threads, registers, static bytes, dynamic bytes, limit of dynamic bytes (-1: no opt-in), carveout
 * answers: status, blocks, factors, by warps, registers, shared, slots, barriers; registers and bytes of a block */
#ifdef __cplusplus
extern "C"
#endif
void occupancies(int count, const int *questions, int *answers)
{
    for (int i = 0; i < count; i++) {
        const int *question = questions + i * QUESTION;
        int *answer = answers + i * ANSWER;
        const struct device *device = &DEVICES[question[0]];
        struct cudaOccDeviceProp card;
        struct cudaOccFuncAttributes kernel;
        struct cudaOccDeviceState state;
        struct cudaOccResult result;

        memset(&card, 0, sizeof card);
        memset(&kernel, 0, sizeof kernel);
        memset(&state, 0, sizeof state);
        memset(&result, 0, sizeof result);
        card.computeMajor = device->major;
        card.computeMinor = device->minor;
        card.maxThreadsPerBlock = 1024;
        card.maxThreadsPerMultiprocessor = device->threads_per_sm;
        card.regsPerBlock = 65536;
        card.regsPerMultiprocessor = 65536;
        card.warpSize = 32;
        card.sharedMemPerBlock = 48 * 1024;
        card.sharedMemPerMultiprocessor = device->shared_kib * 1024;
        card.numSms = 1;
        card.sharedMemPerBlockOptin = device->shared_kib * 1024 - device->reserved;
        card.reservedSharedMemPerBlock = device->reserved;

        kernel.maxThreadsPerBlock = INT_MAX;
        kernel.numRegs = question[2];
        kernel.sharedSizeBytes = question[3];
        kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
        kernel.numBlockBarriers = 1;
        kernel.shmemLimitConfig = question[5] < 0 ? FUNC_SHMEM_LIMIT_DEFAULT : FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = question[5] < 0 ? 0 : question[5];
        state.carveoutConfig = question[6];

        answer[0] = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &card, &kernel, &state, question[1], question[4]);
        answer[1] = result.activeBlocksPerMultiprocessor;
        answer[2] = (int)result.limitingFactors;
        answer[3] = result.blockLimitWarps;
        answer[4] = result.blockLimitRegs;
        answer[5] = result.blockLimitSharedMem;
        answer[6] = result.blockLimitBlocks;
        answer[7] = result.blockLimitBarriers;
        answer[8] = result.allocatedRegistersPerBlock;
        answer[9] = (int)result.allocatedSharedMemPerBlock;
    }
}
