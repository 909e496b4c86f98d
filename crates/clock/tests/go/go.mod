module simkube.io/clock-tests

go 1.26
