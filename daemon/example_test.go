package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/selftest"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/daemon/testdata/foomaster"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// Config is a configuration with one more section.
type Config struct {
	services.Config

	// Master server of Foo, as an example.
	FooMaster foomaster.Config `key:"foomaster"`
}

// settings reads the configuration from an environment in which all services
// listen on free ports of the loopback address.
func settings(dir string, more ...string) (daemon.Config, []string, error) {
	env := []string{"RESPAWND_DATA_DIR=" + dir, "RESPAWND_QR2_PROBE=false", "RESPAWND_FESL_EXTRA_LISTEN="}
	for _, s := range configs.Services(new(Config)) {
		env = append(env, "RESPAWND_"+strings.ToUpper(s.Name)+"_LISTEN=127.0.0.1:0")
	}
	c := new(Config)
	warnings, err := configs.Load(configs.Options{Env: append(env, more...)}, c)
	return c, warnings, err
}

// lines passes on the lines of a log.
type lines chan map[string]any

func (l lines) Write(p []byte) (int, error) {
	line := make(map[string]any)
	if err := json.Unmarshal(p, &line); err != nil {
		return 0, err
	}
	l <- line
	return len(p), nil
}

// until returns the addresses that are logged until a line has a message.
func (l lines) until(message string) map[string]string {
	addresses := make(map[string]string)
	for line := range l {
		if line["message"] == "listening" {
			addresses[line["service"].(string)] = line["address"].(string)
		}
		if line["message"] == message {
			return addresses
		}
	}
	return nil
}

// newest returns the newest version of the game that the list of a master names.
func newest(t *testing.T, address string) string {
	t.Helper()
	p, err := netclient.Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	version, _, err := foomaster.List(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func TestKeysOfAnotherSection(t *testing.T) {
	for _, k := range configs.Keys(new(Config)) {
		if k.Name != "foomaster.newest" {
			continue
		}
		if k.Default != "1.0" || k.Variable() != "RESPAWND_FOOMASTER_NEWEST" || !k.Live {
			t.Errorf("key %s: default %q, variable %s, live %v", k.Name, k.Default, k.Variable(), k.Live)
		}
		return
	}
	t.Error("there is no key foomaster.newest")
}

// A program outside of this repository's list of services adds one of its own.
func TestServiceOfAnotherProgram(t *testing.T) {
	dir, hup := t.TempDir(), make(chan os.Signal, 1)
	r := start(t, daemon.Options{
		Load:   func() (daemon.Config, []string, error) { return settings(dir, "RESPAWND_FOOMASTER_NEWEST=1.1") },
		Reload: hup,
	}, dir)
	if got := newest(t, r.at["foomaster"]); got != "1.0" {
		t.Errorf("version %q, want 1.0", got)
	}
	hup <- syscall.SIGHUP
	r.log.until("reloaded games, bans and limits")
	if got := newest(t, r.at["foomaster"]); got != "1.1" {
		t.Errorf("version %q after a reload, want 1.1", got)
	}
	wantMetric(t, r.Daemon)
	wantOnPage(t, "http://"+r.at["web"]+"/connect", "Foo server lists")
	wantStep(t, r.config, r.at)
}

// optional is a section whose service may be left out.
type optional struct {
	// TCP address.
	Listen string `key:"listen" default:":1" listen:"tcp 1"`
}

// Describe implements service.Service.
func (*optional) Describe() service.Descriptor {
	return service.Descriptor{Title: "Never there", Optional: true}
}

// Open implements service.Service.
func (*optional) Open(_ context.Context, env *service.Env) (*service.Running, error) {
	if got := env.Served("optional"); got != games.Running {
		return nil, fmt.Errorf("served %v before it is opened", got)
	}
	return nil, fmt.Errorf("%w: redirect port 1", service.ErrLeftOut)
}

func TestOptionalService(t *testing.T) {
	type config struct {
		services.Config
		Optional optional `key:"optional"`
	}
	read := func() (daemon.Config, []string, error) {
		var env []string
		for _, s := range configs.Services(new(services.Config)) {
			env = append(env, "RESPAWND_"+strings.ToUpper(s.Name)+"_LISTEN=")
		}
		env = append(env, "RESPAWND_WEB_LISTEN=127.0.0.1:0", "RESPAWND_DATA_DIR="+t.TempDir())
		c := new(config)
		warnings, err := configs.Load(configs.Options{Env: env}, c)
		return c, warnings, err
	}
	c, _, err := read()
	if err != nil {
		t.Fatal(err)
	}
	log := make(lines, 1024)
	d, err := daemon.Open(t.Context(), daemon.Options{Config: c, Load: read, Log: zerolog.New(log), Tail: logtail.New(10)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	var warned string
	for line := range log {
		if line["level"] == "warn" {
			warned += fmt.Sprint(line["error"])
		}
		if line["message"] == "ready" {
			break
		}
	}
	if !strings.Contains(warned, "redirect port 1") || strings.Count(warned, service.ErrLeftOut.Error()) != 1 {
		t.Errorf("warnings %q, want one that says what to do", warned)
	}
	stop()
	if err := errors.Join(<-ended, d.Close()); err != nil {
		t.Error(err)
	}
}

// wantMetric fails unless the drops of the service are counted.
func wantMetric(t *testing.T, d *daemon.Daemon) {
	t.Helper()
	families, err := d.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := make(map[string]string)
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["service"] == "foomaster" && labels["reason"] == "oversized" {
				return
			}
		}
	}
	t.Error("no metric of service foomaster and reason oversized")
}

// wantOnPage fails unless a page has all texts.
func wantOnPage(t *testing.T, url string, texts ...string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	for _, text := range texts {
		if err != nil || !strings.Contains(string(body), text) {
			t.Errorf("%s has no %q, error %v:\n%s", url, text, err, body)
		}
	}
}

// wantStep fails unless the self-test of the service passes.
func wantStep(t *testing.T, c daemon.Config, addresses map[string]string) {
	t.Helper()
	var steps []service.Step
	for _, e := range daemon.List(c) {
		if e.Name == "foomaster" {
			steps = e.Steps
		}
	}
	trial := &service.Trial{Name: selftest.Name(), Address: func(name string) string { return addresses[name] }}
	var results []string
	failed, err := selftest.Run(t.Context(), trial, steps, true, func(step, result string) error {
		results = append(results, step+" "+result)
		return nil
	})
	if err != nil || failed != 0 || len(results) != 1 || results[0] != "foomaster ok" {
		t.Errorf("self-test %q, %d failed, error %v, want foomaster ok", results, failed, err)
	}
}

// TestGuide compares the code in the guide with the code that runs here.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "docs", "contributing", "new-protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	var code []byte
	example, err := filepath.Glob(filepath.Join("testdata", "foomaster", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(example, "example_test.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code = append(code, text...)
	}
	quoted := 0
	for i, part := range strings.Split(string(guide), "```") {
		if text, isGo := strings.CutPrefix(part, "go\n"); isGo && i%2 == 1 {
			quoted++
			if !bytes.Contains(code, []byte(text)) {
				t.Errorf("the guide has code that does not run here:\n%s", text)
			}
		}
	}
	if quoted < 4 {
		t.Errorf("the guide quotes the example %d times, want 4 or more", quoted)
	}
}
