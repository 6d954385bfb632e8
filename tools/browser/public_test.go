package browser

import (
	"testing"

	"github.com/respawnd/respawnd/qr2"
)

func TestPublicPages(t *testing.T) {
	chromium(t)
	d := startDaemon(t)
	d.register(qr2.Rule{Name: "hostname", Value: `<script>alert(1)</script> ünïcode`}, qr2.Rule{Name: "mapname", Value: "dm1"},
		qr2.Rule{Name: "numplayers", Value: "3"}, qr2.Rule{Name: "maxplayers", Value: "16"})
	b := open(t)
	for name, path := range map[string]string{"home": "/", "games": "/?game=" + game, "nothing": "/nothing-here"} {
		b.inspect(name, d.url("web", path))
		if name == "nothing" {
			b.forgive("404")
		}
	}
}
