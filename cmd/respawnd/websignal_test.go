//go:build !windows

package main

import (
	"fmt"
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

func TestReloadChangesTheWebhooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "own.yaml")
	write := func(text string) {
		t.Helper()
		if err := writeAt(config, text); err != nil {
			t.Fatal(err)
		}
	}
	write("webhooks: []\n")
	c := startChild(t, filepath.Join(dir, "data"), "--config", config)
	chat := newInbox(t, false)
	hook := fmt.Sprintf("webhooks: [{name: chat, format: discord, url: %q, allow: [127.0.0.1]}]\n", chat.url)
	write(hook)
	n := c.log.len()
	c.signal(syscall.SIGHUP)
	c.waitFor("the reload", n, reloaded)
	register(t, &c.running, "hostname", "After the reload")
	chat.next("After the reload")
	write("webhooks: [{name: chat, format: discord, url_file: /no/such/file}]\n")
	n = c.log.len()
	c.signal(syscall.SIGHUP)
	c.waitFor("the refusal", n, message("not reloaded"))
	register(t, &c.running, "hostname", "After the mistake")
	chat.next("After the mistake")
	c.signal(syscall.SIGTERM)
	c.end()
}
