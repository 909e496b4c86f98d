module simkube.io/clock-selftest

go 1.26
