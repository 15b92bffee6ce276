package main

import (
	"slices"
	"time"
)

// figures are percentiles in microseconds.
type figures struct {
	P50 float64 `json:"p50_us"`
	P90 float64 `json:"p90_us"`
	P99 float64 `json:"p99_us"`
}

func figuresOf(times []time.Duration) figures {
	sorted := slices.Sorted(slices.Values(times))
	at := func(part float64) float64 {
		return float64(sorted[int(part*float64(len(sorted)-1))]) / float64(time.Microsecond)
	}
	return figures{P50: at(0.5), P90: at(0.9), P99: at(0.99)}
}
