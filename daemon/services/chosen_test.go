package services

import (
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
)

// on returns the names of the services that are on, sorted.
func on(c *Config) (names []string) {
	for _, e := range daemon.List(c) {
		if e.On && e.Name != "probe" && e.Name != "federation" { // they wait for servers and masters
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestServicesDecidesWhatIsOn(t *testing.T) {
	for name, test := range map[string]struct {
		flags map[string]string
		want  string
		warns string
	}{
		"three":                 {map[string]string{"services": "zanmaster, WEB,admin"}, "admin web zanmaster", ""},
		"off by default":        {map[string]string{"services": "dns"}, "dns", ""},
		"named wins":            {map[string]string{"services": "natneg,relay", "relay.enabled": "false"}, "natneg relay", ""},
		"no address":            {map[string]string{"services": "web,admin", "web.listen": ""}, "admin", "web is in the list, but web.listen is empty, so it stays off"},
		"settings of others":    {map[string]string{"services": "admin", "qr2.expire": "60s", "gpcm.listen": ":1"}, "admin", "settings have no effect: qr2, gpcm"},
		"follows":               {map[string]string{"services": "web", "lan.discover": "true"}, "lan web", ""},
		"others do not collide": {map[string]string{"services": "qr2", "web.listen": ":1", "gpcm.listen": ":1"}, "qr2", "gpcm, web"},
	} {
		t.Run(name, func(t *testing.T) {
			c, warnings, err := Load(configs.Options{Flags: test.flags})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(on(c), " "); got != test.want {
				t.Errorf("on: %s, want %s", got, test.want)
			}
			if got := strings.Join(warnings, "\n"); !strings.Contains(got, test.warns) || (got == "") != (test.warns == "") {
				t.Errorf("warnings %q, want %q", got, test.warns)
			}
		})
	}
}

func TestServicesRefuses(t *testing.T) {
	for value, want := range map[string]string{
		"zanmaste":     `services: "zanmaste" is not a service; did you mean zanmaster? (flag --services)`,
		"federation":   `services: "federation" is not a service that the list can name: its own settings alone decide (flag --services)`,
		"x":            `services: "x" is not one of qr2, `,
		"web,,admin":   `services: is not one of qr2, `,
		"web,relay":    `services: "relay" needs natneg, which is off (flag --services)`,
		"quickmatch":   `services: "quickmatch" needs peerchat, which is off (flag --services)`,
		"web,web,gpcn": `services: "gpcn" is not a service; did you mean gpcm?`,
	} {
		if got := refused(t, configs.Options{Flags: map[string]string{"services": value}}).Error(); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("services %s: %q, want %q", value, got, want)
		}
	}
}

func TestWhatNeedsAnOffServiceIsOff(t *testing.T) {
	c := load(t, configs.Options{Flags: map[string]string{"peerchat.listen": "", "natneg.listen": ""}})
	if got := on(c); slices.Contains(got, "quickmatch") || slices.Contains(got, "relay") {
		t.Errorf("on without peerchat and natneg: %q", got)
	}
}

// A reload leaves a changed list to the restart, with all that follows from it.
func TestReloadOfServicesChangesNothing(t *testing.T) {
	running := load(t, configs.Options{})
	next, restart := configs.Reload(running, load(t, configs.Options{Flags: map[string]string{"services": "admin"}}))
	if got := changed(running, next); got != nil || !slices.Equal(restart, []string{"services"}) {
		t.Errorf("a reload with other services changed %q and asks for a restart for %q", got, restart)
	}
}
