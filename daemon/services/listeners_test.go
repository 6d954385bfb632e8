package services

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/configs"
)

// The documentation of a public machine names the ports that a firewall must open.
func TestPortsOfTheFirewall(t *testing.T) {
	page, err := os.ReadFile("../../docs/operators/public-machine.md")
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string][]int{}
	for _, l := range load(t, configs.Options{}).Listeners() {
		if l.Service == "web" || l.Service == "admin" {
			continue
		}
		_, port, _ := strings.Cut(l.Address, ":")
		n, err := strconv.Atoi(port)
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		ports[l.Network] = append(ports[l.Network], n)
	}
	for network, list := range ports {
		slices.Sort(list)
		row := "| " + strings.ToUpper(network) + " | " + strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]") + " |\n"
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/operators/public-machine.md has no row %q", row)
		}
	}
}

func TestListenersAreTheServicesThatAreOn(t *testing.T) {
	tests := map[string]struct {
		flags map[string]string
		with  string // must be there, as key=address
		gone  string // key that must not be there
	}{
		"service off":              {map[string]string{"gpcm.listen": ""}, "gpsp.listen=:29901", "gpcm.listen"},
		"dns on":                   {map[string]string{"dns.enabled": "true"}, "dns.listen=:53", ""},
		"dns off":                  {map[string]string{"dns.listen": ":54"}, "", "dns.listen"},
		"dns on without address":   {map[string]string{"dns.enabled": "true", "dns.listen": ""}, "", "dns.listen"},
		"more addresses":           {map[string]string{"natneg.extra_listen": ":1"}, "natneg.extra_listen=:1", ""},
		"more addresses while off": {map[string]string{"natneg.extra_listen": ":1", "natneg.listen": ""}, "", "natneg.extra_listen"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := load(t, configs.Options{Flags: test.flags}).Listeners()
			if test.with != "" && !slices.ContainsFunc(all, func(l configs.Listener) bool { return l.Key+"="+l.Address == test.with }) {
				t.Errorf("Listeners() = %v, want %s among them", all, test.with)
			}
			if test.gone != "" && slices.ContainsFunc(all, func(l configs.Listener) bool { return l.Key == test.gone }) {
				t.Errorf("Listeners() = %v, want no %s", all, test.gone)
			}
		})
	}
}

func TestEveryServiceCanListen(t *testing.T) {
	flags := map[string]string{"dns.enabled": "true", "fesl.extra_listen": ""}
	for _, s := range All() {
		flags[s.Key] = "127.0.0.1:0"
	}
	all := load(t, configs.Options{Flags: flags}).Listeners()
	if len(all) != len(All()) {
		t.Fatalf("%d listeners, want one for each of %d services", len(all), len(All()))
	}
	for i, s := range All() {
		if want := (configs.Listener{Service: s.Name, Key: s.Key, Network: s.Network, Address: "127.0.0.1:0"}); all[i] != want {
			t.Errorf("Listeners()[%d] = %v, want %v", i, all[i], want)
		}
	}
}

func TestServicesListenOnTheirPort(t *testing.T) {
	flags := map[string]string{"dns.enabled": "true"}
	for _, l := range load(t, configs.Options{Flags: flags}).Listeners() {
		for _, s := range All() {
			if _, port := configs.SplitListen(l.Address); s.Key == l.Key && port != int(s.Port) {
				t.Errorf("default of %s is %s, want port %d", l.Key, l.Address, s.Port)
			}
		}
	}
}

func TestCollisionsNameBothKeys(t *testing.T) {
	tests := map[string]struct {
		flags map[string]string
		want  [2]string // keys; empty: no collision
	}{
		"same address":              {map[string]string{"gpsp.listen": ":29900"}, [2]string{"gpsp.listen", "gpcm.listen"}},
		"wildcard and specific":     {map[string]string{"gpsp.listen": "127.0.0.1:29900"}, [2]string{"gpsp.listen", "gpcm.listen"}},
		"specific and wildcard":     {map[string]string{"web.listen": ":8081"}, [2]string{"admin.listen", "web.listen"}},
		"wildcard of other family":  {map[string]string{"web.listen": "[::]:8081"}, [2]string{"admin.listen", "web.listen"}},
		"wildcard of IPv4":          {map[string]string{"web.listen": "0.0.0.0:8081"}, [2]string{"admin.listen", "web.listen"}},
		"same by name":              {map[string]string{"web.listen": "localhost:8081"}, [2]string{"admin.listen", "web.listen"}},
		"IPv4 in IPv6":              {map[string]string{"web.listen": "[::ffff:127.0.0.1]:8081"}, [2]string{"admin.listen", "web.listen"}},
		"port with leading zero":    {map[string]string{"web.listen": ":08081"}, [2]string{"admin.listen", "web.listen"}},
		"two specific addresses":    {map[string]string{"web.listen": "127.0.0.2:8081"}, [2]string{}},
		"UDP and TCP":               {map[string]string{"qr2.listen": ":28910"}, [2]string{}},
		"free ports":                {map[string]string{"gpsp.listen": "127.0.0.1:0", "gpcm.listen": "127.0.0.1:0"}, [2]string{}},
		"with a service that is on": {map[string]string{"dns.enabled": "true", "dns.listen": ":27900"}, [2]string{"dns.listen", "qr2.listen"}},
		"DNS over TCP":              {map[string]string{"dns.enabled": "true", "dns.listen": "127.0.0.1:8080"}, [2]string{"dns.listen", "web.listen"}},
		"with a service that is off": {
			map[string]string{"dns.listen": ":27900"}, [2]string{},
		},
		"extra address":       {map[string]string{"natneg.extra_listen": "127.0.0.1:27900"}, [2]string{"natneg.extra_listen", "qr2.listen"}},
		"encrypted address":   {map[string]string{"webservices.tls_listen": "127.0.0.1:80"}, [2]string{"webservices.tls_listen", "webservices.listen"}},
		"extra address twice": {map[string]string{"natneg.extra_listen": "127.0.0.1:1,127.0.0.1:1"}, [2]string{"natneg.extra_listen", "natneg.extra_listen"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			opt := configs.Options{Flags: test.flags}
			if test.want == [2]string{} {
				load(t, opt)
				return
			}
			got := refused(t, opt).Error()
			if !strings.HasPrefix(got, test.want[0]+": ") || !strings.Contains(got, " collides with "+test.want[1]+", ") || strings.Contains(got, "\n") {
				t.Errorf("Load(%v): %q, want one line with the keys %q", test.flags, got, test.want)
			}
		})
	}
}
