"""Last lines of benchmark tools: each is read as a person reads it, or refused.

Each line has the number that is read without `objective.value`, None where it is refused, and a
name with the number that it reads, as value, standard error and unit.
"""

from __future__ import annotations

import pytest

from surefoot.tune.definition.section import ValueName, wrong_value_name
from surefoot.tune.measuring.printed_value import printed_value
from surefoot.tune.measuring.quantity import Quantity

HYPERFINE = "  Time (mean ± σ):     {}    [User: 0.8 ms, System: 0.1 ms]"
FIO = "     lat (usec): min=    2, max=12345, avg= 5.12, stdev= 1.23"
FIO_READ = (
    "   READ: bw=212MiB/s (222MB/s), 212MiB/s-212MiB/s, io=1024MiB (1074MB), run=4830-4830msec"
)
IPERF = "[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec    0             sender"
GOOGLE = "BM_StringCopy/1024        123 ns        121 ns      5678901"
GOOGLE_ROW = r"/BM_StringCopy\S+ +(\S+ ns)/"
KERAS = "10/10 - 0s - 3ms/step - accuracy: 0.9312 - loss: 0.2145"
TIMEIT = "12.5 ms ± 0.4 ms per loop (mean ± std. dev. of 7 runs, 100 loops each)"
PYTEST = "test_sort     1.2345 (1.0)   2.3456 (1.0)  1.4567 (1.0)  0.1234 (1.0)  1.4000 (1.0)"
CRITERION = "sort/1000               time:   [1.2034 ms 1.2101 ms 1.2177 ms]"
CRITERION_MIDDLE = r"/time: +\[\S+ \S+ (\S+ \S+)/"
REDIS = '"SET","123456.79","0.253","0.056","0.239","0.399","0.535","1.383"'
MEMTIER = (
    "Totals     98765.43      8978.66     80807.12         2.02447         1.95100     12345.67"
)
GO = "BenchmarkSort-8   \t    1234\t    987654 ns/op\t    4096 B/op\t      12 allocs/op"
GO_TIME = r"/\s([0-9.]+ ns/op)/"
PGBENCH = "tps = 1234.567890 (without initial connection time)"
SLURM = "1234.batch  00:12:34  00:11:59  123456K  COMPLETED"
RADOS = "Bandwidth (MB/sec):     123.456"
DD = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.34567 s, 458 MB/s"
BONNIE = "host 8G  567  99 123456 12 67890  9  1234  98 234567 11 345.6  7"
MLPERF = "Samples per second: 1234.56"
K6 = (
    "http_req_duration..............: avg=12.34ms min=1.2ms med=11ms max=98ms p(90)=20ms p(95)=25ms"
)
VEGETA = "Latencies     [min, mean, 50, 90, 95, 99, max]  1.2ms, 3.4ms, 3ms, 5ms, 6ms, 9ms, 12ms"
LOCUST = "Aggregated    1234   0(0.00%) |    45     12    345    40 |   12.30    0.00"
WRK = "    Latency     1.23ms  456.00us  12.34ms   89.00%"
SYSBENCH = "         95th percentile:                        1.27"
YCSB = "[READ], 99thPercentileLatency(us), 1234"
CYCLICTEST = "T: 0 ( 1234) P:80 I:1000 C:  10000 Min:      2 Act:    3 Avg:    4 Max:      56"
STREAM = "Triad:          12345.6     0.019456     0.019412     0.019623"
OSU = "1024                    1.23"
HPL = "WR11C2R4       20000   192     2     2             123.45             4.3210e+01"
LAMMPS = "Performance: 12345.678 tau/day, 28.578 timesteps/s"
GROMACS = "Performance:       12.345        1.944"
PARALLEL = "Elapsed (wall clock) time (h:mm:ss or m:ss): 0:01.23"
STRESS = (
    "stress-ng: info:  [1234] cpu     12345     10.00     39.98      0.01      1234.50       308.70"
)
LIGHTGBM = "[100]\tvalid_0's auc: 0.93125\tvalid_0's binary_logloss: 0.2145"
XGBOOST = "[99]\ttrain-auc:0.98765\tvalidation-auc:0.93125"
OPTIMIZED = (
    '{"results": [{"command": "x", "mean": 0.0125, "stddev": 0.0004, "times": [0.012, 0.013]}]}'
)
JMH = "MyBench.sort  avgt   25  12.345 ± 0.678  ns/op"
JMETER = (
    "summary =   1234 in 00:00:10 =  123.4/s Avg:    12 Min:     1 Max:   345 Err:     0 (0.00%)"
)
MYSQLSLAP = "\tAverage number of seconds to run all queries: 0.123 seconds"
LLAMA = "| llama 7B Q4_0 | 3.56 GiB | 6.74 B | CUDA | 99 | tg128 | 132.19 ± 0.55 |"
VLLM = "Throughput: 12.34 requests/s, 5678.90 total tokens/s, 2839.45 output tokens/s"

TABLE = [
    # tool, line, read without a name, name, read with it
    ("hyperfine", HYPERFINE.format("12.5 ms ±   0.4 ms"), None, "Time (mean ± σ)", (12.5, 0, "ms")),
    ("hyperfine", HYPERFINE.format("1.002 s ±  24.3 ms"), None, "Time", (1.002, 0, "s")),
    ("hyperfine", "  Range (min … max):   11.9 ms …  13.4 ms    230 runs", None, "Range", None),
    ("hyperfine", "    1.46 ± 0.21 times faster than sleep", (1.46, 0.21, ""), None, None),
    ("hyperfine --export-json", OPTIMIZED, None, "results[0].mean", (0.0125, 0, "")),
    ("hyperfine --export-json", OPTIMIZED, None, "results[0].times", (0.0125, 5e-4, "")),
    ("hyperfine --export-csv", "sleep 0.1,0.1021,0.0004,0.1019,0.001,0.001", None, None, None),
    (
        "perf stat",
        "       1.234567890 seconds time elapsed",
        (1.23456789, 0, "seconds"),
        None,
        None,
    ),
    ("perf stat", "     1,234,567,890      cycles    #    3.456 GHz", None, "cycles", None),
    ("perf stat", "    12,345      context-switches", None, None, None),
    (
        "perf stat -r",
        "   0.70134 +- 0.00234 seconds time elapsed  ( +-  0.33% )",
        None,
        r"/(\S+ \+- \S+ seconds) time elapsed/",
        (0.70134, 0.00234, "seconds"),
    ),
    (
        "perf bench",
        "     Total time: 0.123 [sec]",
        (0.123, 0, "sec"),
        "Total time",
        (0.123, 0, "sec"),
    ),
    ("perf bench", "       81234 ops/sec", (81234, 0, "ops/sec"), None, None),
    ("pgbench", PGBENCH, (1234.56789, 0, ""), "tps", (1234.56789, 0, "")),
    (
        "pgbench",
        "latency average = 8.101 ms",
        (8.101, 0, "ms"),
        "latency average",
        (8.101, 0, "ms"),
    ),
    ("pgbench", "number of transactions actually processed: 10000/10000", None, None, None),
    (
        "pgbench -P",
        "progress: 5.0 s, 1234.5 tps, lat 8.101 ms stddev 1.234, 0 failed",
        None,
        "lat",
        (8.101, 0, "ms"),
    ),
    (
        "redis-benchmark -q",
        "SET: 123456.79 requests per second, p50=0.239 msec",
        None,
        "SET",
        (123456.79, 0, ""),
    ),
    ("redis-benchmark -q", "GET: 99999.99 requests per second", (99999.99, 0, ""), None, None),
    (
        "redis-benchmark -q",
        "SET: rps=1234.0 (overall: 1234.5) avg_msec=0.2\rSET: 9.5 requests per second",
        (9.5, 0, ""),
        None,
        None,
    ),
    ("redis-benchmark --csv", REDIS, None, "SET", None),
    (
        "redis-benchmark",
        "  throughput summary: 123456.79 requests per second",
        (123456.79, 0, ""),
        "throughput summary",
        (123456.79, 0, ""),
    ),
    ("memtier_benchmark", MEMTIER, None, r"/Totals +(\S+)/", (98765.43, 0, "")),
    ("wrk", "Requests/sec:  12345.67", (12345.67, 0, ""), "Requests/sec", (12345.67, 0, "")),
    ("wrk", "Transfer/sec:      1.23MB", (1.23, 0, "MB"), "Transfer/sec", (1.23, 0, "MB")),
    ("wrk", WRK, None, "Latency", None),
    ("wrk", WRK, None, r"/Latency +(\S+)/", (1.23, 0, "ms")),
    (
        "wrk",
        "    Req/Sec     3.12k   123.45     4.56k    78.90%",
        None,
        r"/Sec +(\S+)/",
        (3.12, 0, "k"),
    ),
    ("wrk", "     99%   12.34ms", None, "99%", (12.34, 0, "ms")),
    ("wrk2", " 99.900%   13.45ms", None, "99.900%", (13.45, 0, "ms")),
    (
        "ab",
        "Requests per second:    1234.56 [#/sec] (mean)",
        (1234.56, 0, "#/sec"),
        "Requests per second",
        (1234.56, 0, "#/sec"),
    ),
    ("ab", "Time per request:       8.100 [ms] (mean)", (8.1, 0, "ms"), None, None),
    (
        "ab",
        "Time per request:       0.810 [ms] (mean, across all concurrent requests)",
        (0.81, 0, "ms"),
        None,
        None,
    ),
    ("ab", " 100%     35 (longest request)", None, "100%", (35, 0, "")),
    ("ab", "Total:          2    8   2.1      8      35", None, "Total", None),
    ("hey", "  Requests/sec:\t1234.5678", (1234.5678, 0, ""), None, None),
    ("hey", "  99% in 0.0123 secs", None, r"/99% in (\S+ secs)/", (0.0123, 0, "secs")),
    ("hey", "  [200]\t10000 responses", None, None, None),
    ("oha", "  Success rate:\t100.00%", (100, 0, "%"), "Success rate", (100, 0, "%")),
    ("vegeta", VEGETA, None, None, None),
    (
        "vegeta",
        "Success       [ratio]                           100.00%",
        (100, 0, "%"),
        None,
        None,
    ),
    ("k6", K6, None, "avg", (12.34, 0, "ms")),
    ("k6", K6, None, "p(95)", (25, 0, "ms")),
    ("k6", "iterations.....................: 1234  123.4/s", None, "iterations", None),
    ("locust", LOCUST, None, None, None),
    ("jmeter", JMETER, None, "Avg", (12, 0, "")),
    ("fio", FIO, None, "avg", (5.12, 0, "")),
    ("fio", FIO_READ, None, "bw", (212, 0, "MiB/s")),
    (
        "fio",
        "  read: IOPS=12.3k, BW=48.2MiB/s (50.5MB/s)(482MiB/10001msec)",
        None,
        "IOPS",
        (12.3, 0, "k"),
    ),
    (
        "fio",
        "  cpu          : usr=1.23%, sys=4.56%, ctx=1234, majf=0, minf=12",
        None,
        "usr",
        (1.23, 0, "%"),
    ),
    ("iperf3", IPERF, None, r"/(\S+ Mbits.sec).* sender/", (941, 0, "Mbits/sec")),
    ("iperf", "[  3]  0.0-10.0 sec  1.10 GBytes  941 Mbits/sec", None, None, None),
    ("sysbench", SYSBENCH, (1.27, 0, ""), "95th percentile", (1.27, 0, "")),
    ("sysbench", "    events per second:  1234.56", (1234.56, 0, ""), None, None),
    (
        "sysbench",
        "    transactions:    12345  (1234.27 per sec.)",
        None,
        "transactions",
        (12345, 0, ""),
    ),
    ("sysbench", "    execution time (avg/stddev):   9.9981/0.00", None, None, None),
    (
        "sysbench",
        "1024.00 MiB transferred (4567.89 MiB/sec)",
        None,
        r"/\((.*)\)/",
        (4567.89, 0, "MiB/sec"),
    ),
    ("criterion", CRITERION, None, "time", None),
    ("criterion", CRITERION, None, CRITERION_MIDDLE, (1.2101, 0, "ms")),
    (
        "criterion",
        "                        thrpt:  [821.2 Kelem/s 826.4 Kelem/s 831.0 Kelem/s]",
        None,
        None,
        None,
    ),
    (
        "criterion (Haskell)",
        "time                 12.34 ms   (12.21 ms .. 12.49 ms)",
        None,
        "time",
        (12.34, 0, "ms"),
    ),
    ("cargo bench", "test sort ... bench:      12,345 ns/iter (+/- 678)", None, "bench", None),
    (
        "cargo bench",
        "test sort ... bench:         345.67 ns/iter (+/- 8.90)",
        (345.67, 8.9, "ns/iter"),
        "bench",
        (345.67, 8.9, "ns/iter"),
    ),
    ("Google benchmark", GOOGLE, None, None, None),
    ("Google benchmark", GOOGLE, None, GOOGLE_ROW, (123, 0, "ns")),
    ("Google benchmark", "BM_Copy_mean   123 ns", (123, 0, "ns"), "BM_Copy_mean", (123, 0, "ns")),
    ("pytest-benchmark", PYTEST, None, None, None),
    ("pytest-benchmark", "1 passed in 2.34s", None, r"/passed in (\S+)/", (2.34, 0, "s")),
    ("pytest", "======== 12 passed, 1 warning in 2.34s ========", None, None, None),
    ("timeit", "100 loops, best of 5: 2.34 msec per loop", None, "best of 5", (2.34, 0, "msec")),
    ("%timeit", TIMEIT, None, r"/^(.*) per loop/", (12.5, 0.4, "ms")),
    (
        "pyperf",
        "Mean +- std dev: 12.3 ms +- 0.4 ms",
        (12.3, 0, "ms"),
        "Mean +- std dev",
        (12.3, 0, "ms"),
    ),
    ("Go test", GO, None, GO_TIME, (987654, 0, "ns/op")),
    ("Go test", "ok  \texample.com/sort\t2.345s", (2.345, 0, "s"), None, None),
    ("benchstat", "Sort-8   1.234m ± 2%", (1.234, 0.02468, "m"), "Sort-8", (1.234, 0.02468, "m")),
    ("JMH", JMH, None, r"/25 +(.*)$/", (12.345, 0.678, "ns/op")),
    ("BenchmarkDotNet", "| Sort | 12.34 us | 0.123 us | 0.115 us |", None, "Sort", None),
    (
        "BenchmarkTools.jl",
        "  1.234 ms (12 allocations: 1.23 KiB)",
        None,
        r"/^ *(\S+ ms)/",
        (1.234, 0, "ms"),
    ),
    ("BenchmarkTools.jl", "  1.234 ms (0 allocations: 0 bytes)", None, None, None),
    ("microbenchmark (R)", " sort(x) 12.1 12.5 13.0 12.7 13.2 99.9   100", None, None, None),
    ("bench (R)", "[1] 0.0123", (0.0123, 0, ""), None, None),
    ("Keras", KERAS, None, "loss", (0.2145, 0, "")),
    (
        "Keras",
        "\x1b[1m10/10\x1b[0m \x1b[32m━━━\x1b[0m \x1b[1m0s\x1b[0m 3ms/step - loss: 0.2145",
        None,
        "loss",
        (0.2145, 0, ""),
    ),
    ("Keras", "Test accuracy: 0.9312000274658203", (0.9312000274658203, 0, ""), None, None),
    ("PyTorch", "tensor(0.2500, device='cuda:0')", (0.25, 0, ""), None, None),
    ("PyTorch", "Epoch [10/10], Step [600/600], Loss: 0.0312", None, "Loss", (0.0312, 0, "")),
    (
        "PyTorch",
        "Test set: Average loss: 0.0312, Accuracy: 9901/10000 (99%)",
        None,
        "Average loss",
        (0.0312, 0, ""),
    ),
    (
        "tqdm",
        "100%|██████████| 10/10 [00:01<00:00,  9.98it/s]",
        None,
        r"/(\S+it.s)/",
        (9.98, 0, "it/s"),
    ),
    ("LightGBM", LIGHTGBM, None, "auc", (0.93125, 0, "")),
    ("XGBoost", XGBOOST, None, "auc", None),
    ("XGBoost", XGBOOST, None, "validation-auc", (0.93125, 0, "")),
    ("CatBoost", "bestTest = 0.2145678", (0.2145678, 0, ""), "bestTest", (0.2145678, 0, "")),
    (
        "scikit-learn",
        "0.93 accuracy with a standard deviation of 0.02",
        None,
        r"/^(\S+) accuracy/",
        (0.93, 0, ""),
    ),
    ("scikit-learn", "Accuracy: 0.93 (+/- 0.02)", (0.93, 0.02, ""), "Accuracy", (0.93, 0.02, "")),
    ("scikit-learn", "[0.91 0.93 0.95]", None, None, None),
    (
        "scikit-learn",
        "    accuracy                           0.93       450",
        None,
        "accuracy",
        None,
    ),
    ("GNU time", PARALLEL, None, "Elapsed (wall clock) time (h:mm:ss or m:ss)", (1.23, 0, "s")),
    (
        "GNU time",
        "\tMaximum resident set size (kbytes): 123456",
        (123456, 0, ""),
        "Maximum resident set size (kbytes)",
        (123456, 0, ""),
    ),
    (
        "GNU time",
        "0.51user 0.02system 0:00.53elapsed 99%CPU (0avgtext+0avgdata 9876maxresident)k",
        None,
        None,
        None,
    ),
    ("bash time", "real\t0m1.234s", (1.234, 0, "s"), "real", (1.234, 0, "s")),
    ("bash time", "real    1m2.500s", (62.5, 0, "s"), None, None),
    ("ceph rados bench", RADOS, (123.456, 0, ""), "Bandwidth (MB/sec)", (123.456, 0, "")),
    (
        "ceph rados bench",
        "Average Latency(s):     0.0512\nStddev Latency(s):      0.0123",
        (0.0123, 0, ""),
        "Latency(s)",
        None,
    ),
    (
        "ceph rados bench",
        "Average Latency(s):     0.0512\nStddev Latency(s):      0.0123",
        (0.0123, 0, ""),
        "Average Latency(s)",
        (0.0512, 0, ""),
    ),
    ("dd", DD, None, r"/, (\S+ s), /", (2.34567, 0, "s")),
    ("bonnie++", BONNIE, None, None, None),
    ("ioping", "min/avg/max/mdev = 12.3 us / 45.6 us / 789.0 us / 10.1 us", None, None, None),
    (
        "ping",
        "rtt min/avg/max/mdev = 0.031/0.045/0.067/0.011 ms",
        None,
        r"/= [^\/]*\/([^\/]*)/",
        (0.045, 0, ""),
    ),
    ("stress-ng", STRESS, None, None, None),
    ("cyclictest", CYCLICTEST, None, "Max", (56, 0, "")),
    ("STREAM", STREAM, None, "Triad", None),
    ("OSU micro-benchmarks", OSU, None, r"/^1024 +(\S+)/", (1.23, 0, "")),
    ("HPL", HPL, None, r"/(\S+)$/", (43.21, 0, "")),
    ("YCSB", YCSB, (1234, 0, ""), None, None),
    (
        "YCSB",
        "[OVERALL], Throughput(ops/sec), 1234.56",
        (1234.56, 0, ""),
        "Throughput(ops/sec)",
        (1234.56, 0, ""),
    ),
    ("mysqlslap", MYSQLSLAP, (0.123, 0, "seconds"), None, None),
    ("LAMMPS", LAMMPS, None, "Performance", (12345.678, 0, "")),
    ("GROMACS", GROMACS, None, "Performance", None),
    ("Fortran", "  Energy =  -1.5D-03", (-0.0015, 0, ""), "Energy", (-0.0015, 0, "")),
    ("Fortran", "   0.123-102", None, None, None),
    ("Fortran", "  1.000000E+00  2.000000E+00", None, None, None),
    (
        "Fortran",
        "   residual norm :   1.2345E-08",
        (1.2345e-8, 0, ""),
        "residual norm",
        (1.2345e-8, 0, ""),
    ),
    ("Fortran", " ************", None, None, None),
    ("Slurm sacct", SLURM, None, r"/batch +(\S+)/", (754, 0, "s")),
    (
        "Slurm seff",
        "CPU Efficiency: 93.45% of 00:12:34 core-walltime",
        None,
        "CPU Efficiency",
        (93.45, 0, "%"),
    ),
    ("Slurm", "Job finished at 2026-11-25T21:33:43", None, None, None),
    ("llama-bench", LLAMA, None, "tg128", (132.19, 0.55, "")),
    ("vLLM", VLLM, None, "/put: ([^,]+),/", (12.34, 0, "requests/s")),
    (
        "vLLM",
        "Mean TTFT (ms):                          12.34",
        (12.34, 0, ""),
        "Mean TTFT (ms)",
        (12.34, 0, ""),
    ),
    (
        "Linpack",
        "Residual is ok for n = 1000: 123.45 MFLOPS",
        None,
        r"/(\S+ MFLOPS)/",
        (123.45, 0, "MFLOPS"),
    ),
    (
        "openssl speed",
        "sha256           12345.67k    23456.78k    34567.89k",
        None,
        r"/sha256 +(\S+)/",
        (12345.67, 0, "k"),
    ),
    ("7-Zip b", "Tot:             789   4321  34098", None, "Tot", None),
]


def read(text: str, name: str | None) -> tuple[float, float, str | None] | None:
    found = printed_value(text, None if name is None else ValueName(name))
    return (found.value, found.sem, found.unit) if isinstance(found, Quantity) else None


def same(found: tuple[float, float, str | None] | None, expected: object) -> bool:
    if found is None or not isinstance(expected, tuple):
        return found is expected
    return found[:2] == pytest.approx(expected[:2]) and (found[2] or "") == expected[2]


@pytest.mark.parametrize(("tool", "line", "alone", "name", "named"), TABLE)
def test_last_lines_of_benchmark_tools(tool, line, alone, name, named):
    assert same(read(line, None), alone), read(line, None)
    if name is not None:
        assert wrong_value_name(name) == ""
        assert same(read(line, name), named), read(line, name)


def test_the_table_is_of_forty_tools():
    assert len(TABLE) >= 120
    assert len({tool for tool, *_ in TABLE}) >= 40
