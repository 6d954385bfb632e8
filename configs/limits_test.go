package configs

import (
	"fmt"
	"strings"
	"testing"
)

func TestWebhookLimits(t *testing.T) {
	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "- {name: w%d, format: discord, url: 'https://example.org/'}\n", i)
		}
		return b.String()
	}
	room := func(n int) string {
		return "[{name: w, format: discord, url: 'https://example.org/', events: [chat], room: '#" + strings.Repeat("r", n-1) + "'}]"
	}
	for name, tc := range map[string]struct{ at, over string }{
		"webhooks": {list(MaxWebhooks), list(MaxWebhooks + 1)},
		"room":     {room(maxChannel), room(maxChannel + 1)},
	} {
		if _, err := parseWebhooks(tc.at); err != nil {
			t.Errorf("%s at the limit: %v", name, err)
		}
		if _, err := parseWebhooks(tc.over); err == nil {
			t.Errorf("%s: one too many is taken", name)
		}
	}
}
