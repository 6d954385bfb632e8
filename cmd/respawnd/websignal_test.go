//go:build !windows

package main

import (
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReloadChangesTheRateOfRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "own.yaml")
	if err := writeAt(config, "web: {rate: 1, burst: 1}\n"); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, filepath.Join(dir, "data"), "--config", config)
	refused := func() (n int) {
		for range 5 {
			if code, _ := get(t, &c.running, "web", http.MethodGet, "/api/v1/stats", ""); code == http.StatusTooManyRequests {
				n++
			}
		}
		return n
	}
	if refused() == 0 {
		t.Error("web.burst 1: five requests at once and none was refused")
	}
	if err := writeAt(config, "web: {rate: 0}\n"); err != nil {
		t.Fatal(err)
	}
	n := c.log.len()
	c.signal(syscall.SIGHUP)
	c.waitFor("the reload", n, reloaded)
	if n := refused(); n != 0 {
		t.Errorf("web.rate 0 after a reload: %d of five requests were refused", n)
	}
	c.signal(syscall.SIGTERM)
	c.end()
}
