package main

import (
	"os"
	"os/exec"
	"syscall"
)

// startLoad starts n processes that are always runnable. They end with this process, however it
// ends.
func startLoad(n int) (stop func(), err error) {
	var started []*exec.Cmd
	stop = func() {
		for _, c := range started {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	self, err := os.Executable()
	if err != nil {
		return stop, err
	}
	for range n {
		c := exec.Command(self, "busy-loop")
		c.Env = append(os.Environ(), "GOMAXPROCS=1")
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			stop()
			return func() {}, err
		}
		started = append(started, c)
	}
	return stop, nil
}
