// Package main measures Allocate of two device plugins side by side, as kubelet calls it: a client
// in Go that keeps the connection each plugin registered, in interleaved blocks of calls.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"
)

type options struct {
	names    [2]string
	commands [2]string
	blocks   int
	calls    int
	load     int
	pause    time.Duration
	asJSON   bool
}

func parseOptions() options {
	var o options
	flag.StringVar(&o.commands[0], "a", "", "command of the first plugin, for sh -c; {dir} is a folder of its own")
	flag.StringVar(&o.commands[1], "b", "", "command of the second plugin")
	flag.StringVar(&o.names[0], "name-a", "a", "what the first is called in the report")
	flag.StringVar(&o.names[1], "name-b", "b", "what the second is called")
	flag.IntVar(&o.blocks, "blocks", 30, "blocks of calls for each plugin, in turn")
	flag.IntVar(&o.calls, "calls", 200, "calls in a block")
	flag.IntVar(&o.load, "load", 0, "processes that do nothing but use a processor meanwhile")
	flag.DurationVar(&o.pause, "pause", 2*time.Millisecond, "time between two calls")
	flag.BoolVar(&o.asJSON, "json", false, "print the figures as JSON")
	flag.Parse()
	return o
}

func main() {
	// A process of its own kind, so that the scheduler weighs it as any other.
	if len(os.Args) == 2 && os.Args[1] == "busy-loop" {
		for {
			runtime.KeepAlive(nil)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, parseOptions()); err != nil {
		fmt.Fprintln(os.Stderr, "allocate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.commands[0] == "" || o.commands[1] == "" {
		return errors.New("give the commands of both plugins, --a and --b")
	}
	root, err := os.MkdirTemp("", "tranche-allocate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	var plugins [2]*plugin
	for i := range plugins {
		plugins[i], err = startPlugin(ctx, filepath.Join(root, string(rune('a'+i))), o.commands[i])
		if err != nil {
			return fmt.Errorf("%s: %w", o.names[i], err)
		}
		defer plugins[i].close()
	}
	stopLoad, err := startLoad(o.load)
	if err != nil {
		return err
	}
	defer stopLoad()
	times, err := measure(ctx, o, plugins)
	if err != nil {
		return err
	}
	return report(o, times)
}

// measure runs the blocks of both plugins in turn. Which of them begins alternates too, so that
// neither always has the warmer caches.
func measure(ctx context.Context, o options, plugins [2]*plugin) (times [2][]time.Duration, err error) {
	for i, p := range plugins {
		if _, err := p.block(ctx, o.calls, o.pause); err != nil { // warm
			return times, fmt.Errorf("%s: %w", o.names[i], err)
		}
	}
	for n := range o.blocks {
		for k := range plugins {
			i := (n + k) % 2
			block, err := plugins[i].block(ctx, o.calls, o.pause)
			if err != nil {
				return times, fmt.Errorf("%s: %w", o.names[i], err)
			}
			times[i] = append(times[i], block...)
		}
	}
	return times, nil
}

func report(o options, times [2][]time.Duration) error {
	rows := [2]figures{figuresOf(times[0]), figuresOf(times[1])}
	if o.asJSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]figures{o.names[0]: rows[0], o.names[1]: rows[1]})
	}
	fmt.Printf("%d blocks of %d calls each, in turn; busy processes beside: %d\n", o.blocks, o.calls, o.load)
	fmt.Printf("%-20s %9s %9s %9s\n", "", "p50 us", "p90 us", "p99 us")
	for i, f := range rows {
		fmt.Printf("%-20s %9.1f %9.1f %9.1f\n", o.names[i], f.P50, f.P90, f.P99)
	}
	a, b := rows[0], rows[1]
	fmt.Printf("%-20s %9.2f %9.2f %9.2f\n", "ratio", a.P50/b.P50, a.P90/b.P90, a.P99/b.P99)
	return nil
}
