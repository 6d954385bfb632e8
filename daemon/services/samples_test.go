package services

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/configs"
)

// sample returns the path of a file in the folder configs.
func sample(name string) string { return filepath.Join("..", "..", "configs", name) }

func TestSamplesLoad(t *testing.T) {
	files, err := filepath.Glob(sample("*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"default.yaml", "lan.yaml", "zandronum-only.yaml", "community.yaml", "federated.yaml"} {
		if !slices.Contains(files, sample(want)) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, file := range files {
		if filepath.Base(file) == "games.yaml" {
			continue
		}
		if _, warnings, err := Load(configs.Options{File: file}); err != nil || len(warnings) > 0 {
			t.Errorf("Load of %s: warnings %q, error %v, want neither", file, warnings, err)
		}
	}
}

func TestDefaultFileAsOwnFileChangesNothing(t *testing.T) {
	if got := changed(load(t, configs.Options{}), load(t, configs.Options{File: sample("default.yaml")})); got != nil {
		t.Errorf("default.yaml as a file changes %q, want no change", got)
	}
}

func TestOnlyTheLANSampleSearches(t *testing.T) {
	for file, want := range map[string]bool{"": false, "lan.yaml": true, "community.yaml": false, "zandronum-only.yaml": false} {
		if file != "" {
			file = sample(file)
		}
		if got := load(t, configs.Options{File: file}).LAN.Discover; got != want {
			t.Errorf("lan.discover of %q is %v, want %v", file, got, want)
		}
	}
}

func TestFederatedSampleHasAllKinds(t *testing.T) {
	used := make(map[string]bool)
	for _, m := range load(t, configs.Options{File: sample("federated.yaml")}).Federation.Masters {
		used[m.Protocol] = true
	}
	for _, p := range configs.MasterProtocols() {
		if !used[p] {
			t.Errorf("the sample has no master of kind %s", p)
		}
	}
}

func TestZandronumSampleOpensNothingElse(t *testing.T) {
	var got []string
	c := load(t, configs.Options{File: sample("zandronum-only.yaml")})
	for _, l := range c.Listeners() {
		got = append(got, l.Service)
	}
	if c.Web.Accounts || c.LAN.Discover || c.DNS.Enabled || len(c.Servers.Static) > 0 {
		t.Errorf("zandronum-only.yaml: accounts %v, search %v, DNS %v, servers %v, want none", c.Web.Accounts, c.LAN.Discover, c.DNS.Enabled, c.Servers.Static)
	}
	if want := []string{"zanmaster", "web", "admin"}; !slices.Equal(got, want) {
		t.Errorf("services of zandronum-only.yaml: %q, want %q", got, want)
	}
}

func TestUnitRights(t *testing.T) {
	data, err := os.ReadFile(sample("respawnd.service"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for _, want := range []string{
		"Type=notify", "DynamicUser=yes", "StateDirectory=respawnd", "Restart=on-failure", "NoNewPrivileges=yes",
		"ExecStart=/usr/bin/respawnd serve --config /etc/respawnd/respawnd.yaml --data-dir %S/respawnd",
		"ExecReload=/bin/kill -HUP $MAINPID", "AmbientCapabilities=CAP_NET_BIND_SERVICE",
		"ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "LimitCORE=0",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("respawnd.service has no line %q", want)
		}
	}
}

func TestGamesAreYAML(t *testing.T) {
	var any any
	if err := yaml.Unmarshal(configs.Games, &any); err != nil || any == nil {
		t.Errorf("games.yaml: %v, error %v, want a document", any, err)
	}
}
