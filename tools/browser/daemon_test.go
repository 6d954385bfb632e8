package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/qr2"
)

// hang ends a wait for something that never comes. It decides nothing else.
const hang = 30 * time.Second

// The game of the tests, from the catalogue.
const (
	game   = "gmtest"
	secret = "HA6zkS"
)

// program is the built respawnd.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "respawnd-browser")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "respawnd")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", program, "./cmd/respawnd")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go build: %v\n%s", err, out))
	}
	m.Run()
	_ = os.RemoveAll(dir)
}

// daemon is respawnd in a process of its own.
type daemon struct {
	t       *testing.T
	dir     string
	address map[string]netip.AddrPort // by service
}

// startDaemon runs the program on free ports in an empty folder until the test
// ends. more are variables, NAME=value.
func startDaemon(t *testing.T, more ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, dir: t.TempDir(), address: make(map[string]netip.AddrPort)}
	cmd := exec.CommandContext(context.Background(), program, "serve", "--log-format", "json")
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "RESPAWND_DATA_DIR="+d.dir, "RESPAWND_QR2_PROBE=false", "RESPAWND_QR2_EXPIRE=1h")
	names := []string{"qr2", "serverbrowse", "legacylist", "gpcm", "gpsp", "natneg", "zanmaster", "web", "admin", "webservices", "ssq", "valvemaster"}
	for _, name := range names {
		cmd.Env = append(cmd.Env, "RESPAWND_"+strings.ToUpper(name)+"_LISTEN=127.0.0.1:0")
	}
	cmd.Env = append(cmd.Env, "RESPAWND_SERVICES="+strings.Join(names, ","))
	cmd.Env = append(cmd.Env, more...)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, read := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(read)
		d.read(bufio.NewScanner(log), ready)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("respawnd ended with %v", err)
		}
	})
	if !<-ready {
		t.Fatal("respawnd did not start; its log is above")
	}
	return d
}

// read records the addresses of the services, reports when the daemon is ready, and
// shows its warnings and errors.
func (d *daemon) read(lines *bufio.Scanner, ready chan<- bool) {
	defer close(ready)
	for lines.Scan() {
		var e struct{ Level, Message, Service, Address string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			d.t.Errorf("not a log line: %s", lines.Bytes())
			continue
		}
		switch {
		case e.Message == "listening":
			at, _ := netip.ParseAddrPort(e.Address)
			if at.Addr().IsUnspecified() {
				at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
			}
			d.address[e.Service] = at
		case e.Message == "ready":
			ready <- true
		case e.Level == "error":
			d.t.Errorf("respawnd says: %s", lines.Bytes())
		}
	}
}

// url returns the address of a page of a service.
func (d *daemon) url(service, path string) string {
	return "http://" + d.address[service].String() + path
}

// adminToken returns the token that the daemon made.
func (d *daemon) adminToken() string {
	d.t.Helper()
	token, err := os.ReadFile(filepath.Join(d.dir, "admin.token"))
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.TrimSpace(string(token))
}

// host is a game server.
type host struct {
	qr2.Host
	t *testing.T
}

// register lists a game server and returns when it is listed.
func (d *daemon) register(rules ...qr2.Rule) *host {
	d.t.Helper()
	c, err := netclient.Dial(d.t.Context(), d.address["qr2"].String())
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() })
	h := &host{qr2.Host{Packets: c, Game: game, Secret: secret, Instance: 0xB0B0B0B0, Rules: rules}, d.t}
	if err := h.Register(netclient.Bound(d.t.Context(), hang)); err != nil {
		d.t.Fatalf("the game server was not listed: %v", err)
	}
	return h
}

// leave takes the server off the list.
func (h *host) leave() {
	h.t.Helper()
	if err := h.Leave(); err != nil {
		h.t.Fatal(err)
	}
}

// chromium returns the path of the browser.
func chromium(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") != "":
		t.Fatalf("CI is set and chromium is missing: install Debian's package chromium: %v", err)
	}
	t.Skip("chromium is not installed; Debian's package has that name")
	return ""
}
