package docs

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/test/rig"
)

// The egg of panels names settings and a command line that exist, and the line of the log by which
// the panel knows that the daemon is ready.
func TestEgg(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(rig.Repository, "packaging", "egg")
	var egg struct {
		Startup   string
		Config    struct{ Files, Startup, Logs string }
		Variables []struct {
			Env   string `json:"env_variable"`
			Rules string
		}
	}
	if err := json.Unmarshal([]byte(rig.ReadFile(t, filepath.Join(folder, "respawnd.json"))), &egg); err != nil {
		t.Fatal(err)
	}
	script := rig.ReadFile(t, filepath.Join(folder, "install.sh"))
	if out, err := exec.CommandContext(t.Context(), "sh", "-n", filepath.Join(folder, "install.sh")).CombinedOutput(); err != nil {
		t.Errorf("the script of the installation: %v\n%s", err, out)
	}
	var files map[string]struct {
		Parser string
		Find   map[string]string
	}
	var startup struct{ Done string }
	for text, to := range map[string]any{egg.Config.Files: &files, egg.Config.Startup: &startup, egg.Config.Logs: new(any)} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	var keys, variables []string
	for _, k := range configs.Keys(new(services.Config)) {
		keys = append(keys, k.Name)
		variables = append(variables, configs.EnvPrefix+strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_")))
	}
	for _, v := range egg.Variables {
		if ours := strings.HasPrefix(v.Env, configs.EnvPrefix); ours && !slices.Contains(variables, v.Env) || !ours && !strings.Contains(script, "${"+v.Env+"}") {
			t.Errorf("variable %s is for nothing", v.Env)
		}
	}
	for file, edit := range files {
		if !strings.Contains(script, ">"+file) || len(edit.Find) == 0 {
			t.Errorf("the panel edits %s, which is not installed", file)
		}
		for key := range edit.Find {
			if !slices.Contains(keys, key) {
				t.Errorf("the panel sets %s, which is no key", key)
			}
		}
	}
	words := strings.Fields(egg.Startup)
	if config := understood(t, words[1:]); words[0] != "./respawnd" || !strings.Contains(script, ">"+config) {
		t.Errorf("the daemon starts with %s", egg.Startup)
	}
	c := rig.StartChild(t, t.TempDir(), "--log-format", "json")
	entries, _ := c.Log.Since(0)
	lines, err := json.Marshal(entries)
	if n := strings.Count(string(lines), startup.Done); err != nil || n != 1 || startup.Done == "" {
		t.Errorf("%q occurs %d times in the log of the start, want once: %v\n%s", startup.Done, n, err, lines)
	}
	c.Stop()
}
