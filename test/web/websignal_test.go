//go:build !windows

package web

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestReloadChangesTheRateOfRequests(t *testing.T) {
	t.Parallel()
	c := rig.StartConfigured(t, "web: {rate: 1, burst: 1}\n")
	refused := func() (n int) {
		for range 20 { // so many that some come within a second of each other
			if code, _ := rig.Get(t, &c.Running, "web", http.MethodGet, "/api/v1/stats", ""); code == http.StatusTooManyRequests {
				n++
			}
		}
		return n
	}
	if refused() == 0 {
		t.Error("web.burst 1: 20 requests and none was refused")
	}
	c.Reload("web: {rate: 0}\n", rig.Reloaded)
	if n := refused(); n != 0 {
		t.Errorf("web.rate 0 after a reload: %d of 20 requests were refused", n)
	}
	c.Stop()
}

func TestReloadChangesTheWebhooks(t *testing.T) {
	t.Parallel()
	c := rig.StartConfigured(t, "webhooks: []\n")
	chat := rig.NewInbox(t, false)
	hook := fmt.Sprintf("webhooks: [{name: chat, format: discord, url: %q, allow: [127.0.0.1]}]\n", chat.Url)
	c.Reload(hook, rig.Reloaded)
	rig.Register(t, &c.Running, "hostname", "After the reload")
	chat.MustNext("After the reload")
	c.Reload("webhooks: [{name: chat, format: discord, url_file: /no/such/file}]\n", rig.Message("not reloaded"))
	rig.Register(t, &c.Running, "hostname", "After the mistake")
	chat.MustNext("After the mistake")
	c.Stop()
}
