package commands

import (
	"bytes"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/operator"
)

// TestWordsOfGames checks that check says of each copy of every game with editions what is known.
func TestWordsOfGames(t *testing.T) {
	catalogue, err := operator.ReadGames("")
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := services.Load(configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names, want []string
	for _, g := range catalogue.All() {
		if len(g.Editions) == 0 {
			continue
		}
		names = append(names, g.Name)
		for _, line := range g.Says(daemon.Served(cfg), nil) {
			want = append(want, g.Name+": "+cli.Printable(line))
		}
	}
	var out, errOut bytes.Buffer
	env := []string{"RESPAWND_DATA_DIR=" + t.TempDir(), "RESPAWND_GAMES_FOCUS=" + strings.Join(names, ",")}
	if code := Run(t.Context(), cli.New(env, strings.NewReader(""), &out, &errOut), []string{"check"}); code != 0 {
		t.Fatalf("check: exit code %d: %s", code, &errOut)
	}
	for _, line := range want {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("check lacks %q", line)
		}
	}
	if line := "bstormps3 asks web services over https: webservices.tls_listen is off"; !strings.Contains(errOut.String(), line) {
		t.Errorf("check lacks %q", line)
	}
}
