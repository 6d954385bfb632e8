//go:build !windows

package main

import (
	"fmt"
	"net/http"
	"testing"
)

func TestReloadChangesTheRateOfRequests(t *testing.T) {
	t.Parallel()
	c := startConfigured(t, "web: {rate: 1, burst: 1}\n")
	refused := func() (n int) {
		for range 20 { // so many that some come within a second of each other
			if code, _ := get(t, &c.running, "web", http.MethodGet, "/api/v1/stats", ""); code == http.StatusTooManyRequests {
				n++
			}
		}
		return n
	}
	if refused() == 0 {
		t.Error("web.burst 1: 20 requests and none was refused")
	}
	c.reload("web: {rate: 0}\n", reloaded)
	if n := refused(); n != 0 {
		t.Errorf("web.rate 0 after a reload: %d of 20 requests were refused", n)
	}
	c.stop()
}

func TestReloadChangesTheWebhooks(t *testing.T) {
	t.Parallel()
	c := startConfigured(t, "webhooks: []\n")
	chat := newInbox(t, false)
	hook := fmt.Sprintf("webhooks: [{name: chat, format: discord, url: %q, allow: [127.0.0.1]}]\n", chat.url)
	c.reload(hook, reloaded)
	register(t, &c.running, "hostname", "After the reload")
	chat.next("After the reload")
	c.reload("webhooks: [{name: chat, format: discord, url_file: /no/such/file}]\n", message("not reloaded"))
	register(t, &c.running, "hostname", "After the mistake")
	chat.next("After the mistake")
	c.stop()
}
