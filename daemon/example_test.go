package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
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
	"github.com/respawnd/respawnd/daemon/testdata/echo"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/service"
)

// Config is a configuration with one more section.
type Config struct {
	services.Config

	// Answers to datagrams, as an example.
	Echo echo.Config `key:"echo"`
}

// settings reads the configuration from an environment in which all services
// listen on free ports of the loopback address.
func settings(dir string, more ...string) (daemon.Config, []string, error) {
	env := []string{"RESPAWND_DATA_DIR=" + dir, "RESPAWND_QR2_PROBE=false"}
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

// say sends a datagram and returns the answer.
func say(t *testing.T, address, text string) string {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "udp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var buf [64]byte
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(buf[:])
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestKeysOfAnotherSection(t *testing.T) {
	for _, k := range configs.Keys(new(Config)) {
		if k.Name != "echo.greeting" {
			continue
		}
		if k.Default != "hello" || k.Variable() != "RESPAWND_ECHO_GREETING" || !k.Live {
			t.Errorf("key %s: default %q, variable %s, live %v", k.Name, k.Default, k.Variable(), k.Live)
		}
		return
	}
	t.Error("there is no key echo.greeting")
}

// A program outside of this repository's list of services adds one of its own.
func TestServiceOfAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	c, _, err := settings(dir)
	if err != nil {
		t.Fatal(err)
	}
	log, hup := make(lines, 1024), make(chan os.Signal, 1)
	d, err := daemon.Open(t.Context(), daemon.Options{
		Config: c, Load: func() (daemon.Config, []string, error) { return settings(dir, "RESPAWND_ECHO_GREETING=goodbye") },
		Log: zerolog.New(log), Tail: logtail.New(10), Reload: hup,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	addresses := log.until("ready")
	if got := say(t, addresses["echo"], "a long ping"); got != "hello" {
		t.Errorf("answer %q, want hello", got)
	}
	hup <- syscall.SIGHUP
	log.until("reloaded games, bans and limits")
	if got := say(t, addresses["echo"], "a long ping"); got != "goodbye" {
		t.Errorf("answer %q after a reload, want goodbye", got)
	}
	wantMetric(t, d)
	wantOnPage(t, "http://"+addresses["web"]+"/connect", "Echoes for players")
	wantStep(t, c, addresses)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
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
			if labels["service"] == "echo" && labels["reason"] == "short" {
				return
			}
		}
	}
	t.Error("no metric of service echo and reason short")
}

// wantOnPage fails unless a page has a text.
func wantOnPage(t *testing.T, url, text string) {
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
	if err != nil || !strings.Contains(string(body), text) {
		t.Errorf("%s has no %q, error %v", url, text, err)
	}
}

// wantStep fails unless the self-test of the service passes.
func wantStep(t *testing.T, c daemon.Config, addresses map[string]string) {
	t.Helper()
	var steps []service.Step
	for _, e := range daemon.List(c) {
		if e.Name == "echo" {
			steps = e.Steps
		}
	}
	trial := &service.Trial{Address: func(name string) string { return addresses[name] }}
	var results []string
	failed, err := selftest.Run(t.Context(), trial, steps, true, func(step, result string) error {
		results = append(results, step+" "+result)
		return nil
	})
	if err != nil || failed != 0 || len(results) != 1 || results[0] != "echo ok" {
		t.Errorf("self-test %q, %d failed, error %v, want echo ok", results, failed, err)
	}
}

// TestGuide compares the code in the guide with the code that runs here.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "docs", "contributing", "new-protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	var code []byte
	for _, name := range []string{filepath.Join("testdata", "echo", "echo.go"), "example_test.go"} {
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
