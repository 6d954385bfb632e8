package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/service"
)

func TestComparePorts(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	d := &Daemon{log: zerolog.New(&log), running: []opened{
		{Entry: Entry{Name: "first", Key: "first.listen"}, run: &service.Running{Ports: []string{"0.0.0.0:1005"}}},
		{Entry: Entry{Name: "second", Key: "second.listen"}, run: &service.Running{}},
	}}
	c := &testConfig{shared: Shared{DataDir: dir}}
	start := func(first, second string) string {
		c.First.Listen, c.Second.Listen, c.Later.Listen = first, second, ":3"
		log.Reset()
		d.comparePorts(newSettings(c))
		return log.String()
	}
	path := filepath.Join(dir, portsFile)
	if line := start(":1000", "localhost:2000"); line != "" {
		t.Errorf("first start: %s", line)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "udp :1000 first.listen\nudp localhost:2000 second.listen\nudp :1005 first.listen\n" {
		t.Errorf("saved %q, %v", text, err)
	}
	if line := start("0.0.0.0:1000", "localhost:2000"); line != "" {
		t.Errorf("all addresses in another form: %s", line)
	}
	if line := start("0.0.0.0:1000", ":2000"); !strings.Contains(line, `"opened":["udp :2000 second.listen"],"closed":["udp localhost:2000 second.listen"]`) {
		t.Errorf("an address that changed: %s", line)
	}
	if err := os.WriteFile(path, []byte("udp :7 gone.listen\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.running[0].run.Ports = nil
	if line := start("", ""); !strings.Contains(line, `"level":"info"`) || !strings.Contains(line, "gone.listen") {
		t.Errorf("a service that is gone: %s", line)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if line := start(":1000", ""); !strings.Contains(line, "cannot be saved") || strings.Contains(line, "opened") {
		t.Errorf("a file that cannot be written: %s", line)
	}
}

func TestReleased(t *testing.T) {
	got := released([]string{"udp :27900 qr2.listen", "udp :27650 idmaster.listen", "tcp :443 webservices.tls_listen"})
	if strings.Join(got, ",") != "udp :27900 qr2.listen,tcp :443 webservices.tls_listen" {
		t.Errorf("ports of release 0.9.0: %q", got)
	}
}
