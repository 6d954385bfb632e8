//go:build unix

package operator

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/test/rig"
)

// Where packages put the configuration and the data of the service.
const (
	serviceConfig = "etc/respawnd/respawnd.yaml"
	serviceData   = "var/lib/respawnd"
)

// machine is the file system of a machine with an installed service.
type machine struct {
	t    *testing.T
	root string
}

// newMachine writes the configuration of the installed service, in which %D stands
// for a folder.
func newMachine(t *testing.T, config string) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir()}
	rig.Must(t, os.MkdirAll(filepath.Dir(m.path(serviceConfig)), 0o700))
	rig.Must(t, rig.WriteAt(m.path(serviceConfig), strings.ReplaceAll(config, "%D", m.path("srv"))))
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.root, name) }

// command runs a command on the machine.
func (m *machine) command(env []string, args ...string) (code int, out, errOut string) {
	m.t.Helper()
	var o, e bytes.Buffer
	p := cli.New(env, strings.NewReader(""), &o, &e)
	p.SystemRoot = m.root
	code = commands.Run(m.t.Context(), p, args)
	return code, o.String(), rig.WithoutNotes(e.String())
}

func TestCommandsFindTheInstalledService(t *testing.T) {
	const offline = "admin: {listen: ''}\n"
	for name, tt := range map[string]struct {
		config string
		data   string // the data folder that is there
		found  bool
	}{
		"its data folder":              {"data_dir: %D\n", "srv", true},
		"the data folder of the unit":  {"", serviceData, true},
		"never started":                {"data_dir: %D\n", "", false},
		"never started, without a key": {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			m := newMachine(t, offline+tt.config)
			data := "respawnd-data"
			if tt.data != "" {
				rig.Must(t, os.MkdirAll(m.path(tt.data), 0o700))
			}
			if tt.found {
				data = m.path(tt.data)
			}
			if code, out, errOut := m.command(nil, "ban", "add", "192.0.2.7"); code != 0 || errOut != "" {
				t.Errorf("exit code %d, printed %q and %q", code, out, errOut)
			}
			if _, err := os.Stat(filepath.Join(data, daemon.StoreName)); err != nil {
				t.Errorf("the ban is not in %s", data)
			}
			if _, out, _ := m.command(nil, "check"); strings.Contains(out, m.path(serviceConfig)) != tt.found {
				t.Errorf("check printed %q", out)
			}
		})
	}
}

// A command's arguments take precedence over the installed service.
func TestCommandsPreferArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	m := newMachine(t, "data_dir: %D\nnonsense: 1\n")
	rig.Must(t, os.MkdirAll(m.path(serviceData), 0o700))
	own := rig.WriteFile(t, "own.yaml", "admin: {listen: ''}\ndata_dir: 'here'\n")
	for name, tt := range map[string]struct{ env, args []string }{
		"a configuration": {nil, []string{"--config", own}},
		"a data folder":   {nil, []string{"--data-dir", "here"}},
		"a variable":      {[]string{rig.Variable("log.level", "info")}, nil},
	} {
		if code, _, errOut := m.command(append(tt.env, "PATH=/bin"), append(tt.args, "check")...); code != 0 {
			t.Errorf("%s: exit code %d: %s", name, code, errOut)
		}
	}
	if code, _, errOut := m.command(nil, "check", "--log-level", "info"); code != commands.ExitFailure || !strings.Contains(errOut, "nonsense") ||
		!strings.Contains(errOut, "this is about the installed service, "+m.path(serviceConfig)) {
		t.Errorf("mistakes in the installed configuration: exit code %d: %s", code, errOut)
	}
	// The unit of the service names its files: without them, serve does not run on its data.
	if code, _, errOut := m.command(nil, "serve", "--log-level", "wrong"); code != commands.ExitFailure || strings.Contains(errOut, "nonsense") {
		t.Errorf("serve: exit code %d: %s", code, errOut)
	}
}

// A folder of one's own in the current folder is not used, and that is said.
func TestCommandsDoubtTwoServices(t *testing.T) {
	t.Chdir(t.TempDir())
	m := newMachine(t, "admin: {listen: ''}\ndata_dir: %D\n")
	own := "--data-dir=respawnd-data"
	m.command([]string{rig.Variable("admin.listen", "")}, "ban", "add", "192.0.2.7", own)
	rig.Must(t, os.MkdirAll(m.path("srv"), 0o700))
	code, out, errOut := m.command(nil, "ban", "list")
	if code != 0 || strings.Contains(out, "192.0.2.7") || !strings.Contains(errOut, "--data-dir ./respawnd-data") {
		t.Errorf("exit code %d, printed %q and %q", code, out, errOut)
	}
	if code, out, errOut = m.command([]string{rig.Variable("admin.listen", "")}, "ban", "list", own); code != 0 || !strings.Contains(out, "192.0.2.7") || errOut != "" {
		t.Errorf("with %s: exit code %d, printed %q and %q", own, code, out, errOut)
	}
}
