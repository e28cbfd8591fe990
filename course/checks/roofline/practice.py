"""Practice for the chapter `roofline`: not graded, with worked answers. The models compute every number."""

from __future__ import annotations

import math

from course.cards import card
from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.coalescing import WARP_LANES
from course.models.roofline import Machine, attainable, bandwidths, cpu_or_gpu, intensity, machine, ridge

__all__ = ["QUESTIONS"]

_FLOAT = 4

# p1: how near to the roof is a kernel that was measured? ------------------------------------------

_P1_FLOP, _P1_BYTES, _P1_SECONDS = 3e9, 1.2e9, 1.6e-3
_p1_on = machine("a100-80gb")
_p1_ai = float(intensity(_P1_FLOP, _P1_BYTES))
_p1_gb_per_s = _P1_BYTES / _P1_SECONDS / 1e9
_p1_share = _p1_gb_per_s / _p1_on.gb_per_s
_p1_tflops = _P1_FLOP / _P1_SECONDS / 1e12
_p1_most = float(attainable(_p1_ai, _p1_on).attainable_tflops)

P1 = Question(
    name="roofline/p1",
    statement=(
        "A profiler says of a kernel on an A100 80GB SXM: it did 3 billion FLOP in FP32, DRAM moved 1.2 billion bytes, "
        "and it took 1.6 ms. How near is it to its roof?"
    ),
    parts=(
        Number(
            name="tflops",
            points=1,
            asks="the speed that it reached",
            unit="TFLOP/s",
            expected=_p1_tflops,
            tolerance=0.01,
            hint="FLOP divided by seconds, in units of ten to the twelve.",
            misconceptions=(
                Misconception(_p1_most, "This is what it could reach. What did it reach?"),
                Misconception(1000 * _p1_tflops, "This is in GFLOP/s."),
                Misconception(_p1_ai, "This is the intensity: FLOP per byte."),
            ),
        ),
        Number(
            name="share",
            points=1,
            asks="this speed as a share of what it can attain at most",
            expected=_p1_share,
            tolerance=0.01,
            fraction=True,
            hint="Compare with the roof above the kernel, not with the peak. Which side of the ridge is it on?",
            misconceptions=(
                Misconception(
                    _p1_tflops / _p1_on.peak_tflops,
                    "This is the share of the peak. The kernel is memory-bound: the roof above it is lower.",
                ),
                Misconception(1 / _p1_share, "This is upside down."),
                Misconception(1 - _p1_share, "This is the share that is missing."),
            ),
        ),
        Number(
            name="speed_up",
            points=1,
            asks="how many times as fast it can become while it moves the same bytes",
            unit="times",
            expected=1 / _p1_share,
            tolerance=0.01,
            hint="From where it is now to the roof above it.",
            misconceptions=(
                Misconception(
                    _p1_on.peak_tflops / _p1_tflops, "This goes up to the peak. The memory does not allow it."
                ),
                Misconception(_p1_share, "This is upside down: the kernel would become slower."),
                Misconception(1, "Being memory-bound does not mean being at the roof."),
            ),
        ),
    ),
    worked=(
        f"It reached 3 billion / 1.6 ms = **{_p1_tflops:.3g} TFLOP/s**. Its intensity is 3 / 1.2 = {_p1_ai:g} FLOP/B, "
        f"left of the ridge ({_p1_on.ridge:.3g}), so the memory is the limit: it can attain {_p1_ai:g} x "
        f"{_p1_on.gb_per_s:g} GB/s = {_p1_most:.3g} TFLOP/s. It is at **{_p1_share:.3g}** of that. The same in bytes: "
        f"{_p1_gb_per_s:.0f} of {_p1_on.gb_per_s:g} GB/s. So it can become **{1 / _p1_share:.3g}** times as fast, if "
        "more bytes are on their way at the same time (the next chapter). To get further it must move fewer bytes."
    ),
)

# p2: a layer of a language model, for one word or for many ------------------------------------------

_P2_ON, _P2_BYTES = "h100-sxm", 2
_p2_roof = machine(_P2_ON, "fp16")
_p2_one = float(intensity(2, _P2_BYTES))
_p2_batch = math.ceil(ridge(_P2_ON, "fp16") / _p2_one)
_p2_share = float(attainable(_p2_one, _p2_roof).share_of_peak)

P2 = Question(
    name="roofline/p2",
    statement=(
        "A layer of a language model multiplies a large matrix of 2-byte weights with one vector for each word that it "
        "writes. Every weight is read from DRAM once, and serves all vectors of the batch. The vectors are small "
        "beside the matrix. The card is an H100 SXM with FP16 tensor units."
    ),
    parts=(
        Number(
            name="one",
            points=1,
            asks="arithmetic intensity for one vector",
            unit="FLOP per byte",
            expected=_p2_one,
            tolerance=0.01,
            hint="A weight has two bytes. What is done with it?",
            misconceptions=(
                Misconception(2, "These are the FLOP for each weight. A weight has two bytes."),
                Misconception(1 / _P2_BYTES, "A multiply-add is two FLOP, and a weight has two bytes."),
                Misconception(2 * _P2_BYTES, "This multiplies. How many FLOP are there for one byte?"),
            ),
        ),
        Number(
            name="share",
            points=1,
            asks="attainable share of the peak for one vector",
            expected=_p2_share,
            tolerance=0.01,
            fraction=True,
            hint="Intensity times bandwidth, divided by the peak of the tensor units.",
            misconceptions=(
                Misconception(
                    float(attainable(_p2_one, _P2_ON).share_of_peak),
                    "This is the share of the FP32 peak. The tensor units have a much higher one.",
                ),
                Misconception(1, "The memory is far too slow for that."),
                Misconception(1 / _p2_share, "This is upside down."),
            ),
        ),
        Number(
            name="batch",
            points=1,
            asks="the smallest number of vectors for which the layer is compute-bound",
            unit="vectors",
            expected=_p2_batch,
            hint="Each further vector adds two FLOP for each weight, and no byte. Where is the ridge?",
            misconceptions=(
                Misconception(
                    math.ceil(ridge(_P2_ON) / _p2_one), "This is right for FP32 units. Where is the ridge of FP16?"
                ),
                Misconception(
                    lambda value: abs(value - _p2_batch) < 1.5, "Nearly: a part of a vector is not possible. Round up."
                ),
                Misconception(
                    math.ceil(2 * ridge(_P2_ON, "fp16")), "This is right for 4-byte weights. These have two bytes."
                ),
            ),
        ),
    ),
    worked=(
        f"A weight has 2 bytes and does one multiply-add, 2 FLOP: **{_p2_one:g}** FLOP per byte. This attains "
        f"{_p2_one:g} x {_p2_roof.gb_per_s:g} GB/s = {_p2_one * _p2_roof.gb_per_s / 1000:g} of "
        f"{_p2_roof.peak_tflops:g} TFLOP/s, **{_p2_share:.2g}** of the peak. With B vectors, a weight does B "
        f"multiply-adds while it is there: B FLOP per byte. The ridge is {_p2_roof.ridge:.1f}, so B = **{_p2_batch}**. "
        "This is why servers collect the requests of many people, and why one person alone cannot use such a card well."
    ),
)

# p3: will a GPU help? ---------------------------------------------------------------------------------

_P3_FILTER, _P3_MATMUL = 0.5, 64.0
_p3 = cpu_or_gpu([_P3_FILTER, _P3_MATMUL], "t4")
_p3_filter, _p3_matmul = (float(x) for x in _p3.speed_up)
_p3_tensor = float(cpu_or_gpu(_P3_MATMUL, "t4", unit="fp16").speed_up)
_p3_gpu, _p3_cpu = card("t4"), card("desktop-cpu")

P3 = Question(
    name="roofline/p3",
    statement=(
        f"Two programs run on a desktop CPU ({_p3_cpu.dram_gb_per_s:g} GB/s, {_p3_cpu.peak_tflops():g} TFLOP/s): a "
        f"filter with 0.5 FLOP per byte, and a matrix product with 64. They move to a T4 ({_p3_gpu.dram_gb_per_s:g} "
        f"GB/s, {_p3_gpu.peak_tflops():g} TFLOP/s). Both are as good as the roofs of each machine allow, and the data "
        "are there already."
    ),
    parts=(
        Number(
            name="filter",
            points=1,
            asks="how many times as fast the filter becomes",
            unit="times",
            expected=_p3_filter,
            tolerance=0.01,
            hint="On which side of the ridge is it, on both machines? Then one ratio is enough.",
            misconceptions=(
                Misconception(_p3_matmul, "This is the ratio of the peaks. The filter waits for memory."),
                Misconception(1 / _p3_filter, "This is upside down."),
                Misconception(_p3.bandwidth_ratio * _P3_FILTER, "The intensity is the same on both: it cancels out."),
            ),
        ),
        Number(
            name="product",
            points=1,
            asks="how many times as fast the matrix product becomes",
            unit="times",
            expected=_p3_matmul,
            tolerance=0.01,
            hint="Its intensity is beyond the ridge of the CPU. Is it beyond that of the GPU?",
            misconceptions=(
                Misconception(_p3_filter, "This is the ratio of the bandwidths. The product waits for arithmetic."),
                Misconception(1 / _p3_matmul, "This is upside down."),
                Misconception(_p3_gpu.peak_tflops(), "This is the peak of the GPU. How fast was the CPU?"),
            ),
        ),
    ),
    worked=(
        f"The ridges are at {_p3.cpu.ridge:.3g} (CPU) and {_p3.gpu.ridge:.3g} (GPU). The filter is left of both: the "
        f"bandwidths decide: {_p3_gpu.dram_gb_per_s:g} / {_p3_cpu.dram_gb_per_s:g} = **{_p3_filter:.3g}**. The product "
        f"is right of both, so the peaks decide: {_p3_gpu.peak_tflops():g} / {_p3_cpu.peak_tflops():g} = "
        f"**{_p3_matmul:.3g}**. On this small GPU with ordinary FP32 units, the memory-bound program gains more. "
        f"With its FP16 tensor units, the product would become {_p3_tensor:.3g} times as fast, and wait for "
        "memory, too."
    ),
)

# p4: half the FLOP, or half the bytes -------------------------------------------------------------------

_P4_ON, _P4_FLOP = "a100-80gb", 30


def _p4_time(flop: float, value_bytes: int) -> float:
    """Least time of an element with one value read and one written, in units of 10^-12 s."""
    roof = machine(_P4_ON)
    return max(flop / roof.peak_tflops, 2 * value_bytes * 1000 / roof.gb_per_s)


_p4_before = _p4_time(_P4_FLOP, 4)
_p4_half_flop = _p4_time(_P4_FLOP / 2, 4) / _p4_before
_p4_half_bytes = _p4_time(_P4_FLOP, 2) / _p4_before

P4 = Question(
    name="roofline/p4",
    statement=(
        "On an A100 80GB SXM with FP32 units, a kernel reads a 4-byte float, does 30 FLOP and writes a 4-byte float, "
        "for each element. One person finds a formula with 15 FLOP. Another one stores the values in 2 bytes and "
        "computes as before. How does the least possible time change?"
    ),
    parts=(
        Number(
            name="half_the_flop",
            points=1,
            asks="new time divided by old time, with 15 FLOP",
            unit="times",
            expected=_p4_half_flop,
            tolerance=0.01,
            hint="Which of the two limits decides the time before the change, and after it?",
            misconceptions=(
                Misconception(0.5, "The time of the arithmetic halves. But the kernel does not wait for it."),
                Misconception(2, "Less work is not slower."),
                Misconception(0.75, "The times are not added: memory and arithmetic work at the same time."),
            ),
        ),
        Number(
            name="half_the_bytes",
            points=1,
            asks="new time divided by old time, with values of 2 bytes",
            unit="times",
            expected=_p4_half_bytes,
            tolerance=0.01,
            hint="Work out the new intensity. Is the kernel still left of the ridge?",
            misconceptions=(
                Misconception(1, "The memory is the limit here, so fewer bytes are less time."),
                Misconception(
                    _p4_time(_P4_FLOP, 4) / _p4_time(_P4_FLOP, 2), "This is upside down: asked is new by old."
                ),
                Misconception(0.75, "The times are not added: memory and arithmetic work at the same time."),
                Misconception(0.25, "Both values have half the bytes, so half the bytes move."),
            ),
        ),
    ),
    worked=(
        f"The kernel has {_P4_FLOP} / 8 = {_P4_FLOP / 8:g} FLOP per byte, and the ridge is {ridge(_P4_ON):.3g}: it "
        f"waits for memory. With 15 FLOP it waits just as long: **{_p4_half_flop:g}**. With half the bytes it has "
        f"{_P4_FLOP / 4:g} FLOP per byte, still left of the ridge, and needs half the time: **{_p4_half_bytes:g}**. "
        "The better formula is a waste of time here."
    ),
)

# p5: another roof, the one of shared memory ---------------------------------------------------------------

_P5_ON, _WAVEFRONT_BYTES, _P5_SIDE = "h200", WARP_LANES * _FLOAT, 4
_p5_gb_per_s = next(roof.gb_per_s for roof in bandwidths(_P5_ON) if roof.level == "shared")
_p5_roof = Machine("shared memory of the H200", card(_P5_ON).peak_tflops(), _p5_gb_per_s)


def _p5_intensity(side: int) -> float:
    """FLOP for each byte of shared wavefronts, when a thread keeps side x side results."""
    return float(intensity(2 * WARP_LANES * side**2, 2 * side * _WAVEFRONT_BYTES))


_p5_one, _p5_more = _p5_intensity(1), _p5_intensity(_P5_SIDE)
_p5_most = float(attainable(_p5_one, _p5_roof).attainable_tflops)

P5 = Question(
    name="roofline/p5",
    statement=(
        "In a tiled matrix product with one result for each thread, a lane loads two floats from shared memory for "
        "each multiply-add. Every such request of a warp is one wavefront, and a wavefront can carry 128 bytes. All "
        f"shared memories of an H200 together deliver {_p5_gb_per_s / 1000:.1f} TB/s in wavefronts."
    ),
    parts=(
        Number(
            name="intensity",
            points=1,
            asks="FLOP of a warp for each byte of its wavefronts",
            unit="FLOP per byte",
            expected=_p5_one,
            tolerance=0.01,
            hint="Take one multiply-add of a whole warp. How many FLOP and how many wavefronts are this?",
            misconceptions=(
                Misconception(2 * _p5_one, "This counts one wavefront. Two values are loaded for each multiply-add."),
                Misconception(_p5_one / 2, "A multiply-add is two FLOP."),
                Misconception(1 / _p5_one, "This is upside down."),
                Misconception(_p5_one / WARP_LANES, "These are the FLOP of one lane. A wavefront serves all of them."),
            ),
        ),
        Number(
            name="attainable_tflops",
            points=1,
            asks="the speed that the shared memory allows",
            unit="TFLOP/s",
            expected=_p5_most,
            tolerance=0.01,
            hint="Intensity times bandwidth, as always; only the bandwidth is another one.",
            misconceptions=(
                Misconception(card(_P5_ON).peak_tflops(), "This is the peak of the arithmetic units."),
                Misconception(_p5_one * card(_P5_ON).dram_gb_per_s / 1000, "This is the bandwidth of DRAM."),
                Misconception(1000 * _p5_most, "This is in GFLOP/s."),
            ),
        ),
        Number(
            name="four_by_four",
            points=1,
            asks="FLOP for each byte of wavefronts when every thread keeps 4 x 4 results, and loads 4 + 4 floats for "
            "16 multiply-adds",
            unit="FLOP per byte",
            expected=_p5_more,
            tolerance=0.01,
            hint="Count again for one warp: now sixteen multiply-adds share their loads.",
            misconceptions=(
                Misconception(_p5_one, "This is as before. Each float that is loaded now serves several results."),
                Misconception(
                    _P5_SIDE**2 * _p5_one, "The FLOP are so many times more, but there are more loads as well."
                ),
                Misconception(2 * _p5_more, "Floats of both matrices are loaded."),
            ),
        ),
    ),
    worked=(
        f"One multiply-add of a warp is 2 x 32 FLOP, and takes two wavefronts of 128 B: 64 / 256 = **{_p5_one:g}**. "
        f"Times {_p5_gb_per_s / 1000:.1f} TB/s, this is **{_p5_most:.3g} TFLOP/s**: far below the peak of "
        f"{card(_P5_ON).peak_tflops():g}, whatever the tile size. With 4 x 4 results, a warp loads 8 times for 16 "
        f"multiply-adds: 16 x 64 / (8 x 128) = **{_p5_more:g}**, four times as much. That is the second reason for "
        "register tiling."
    ),
)

QUESTIONS = (P1, P2, P3, P4, P5)
