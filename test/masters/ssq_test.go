package masters

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	wire "github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/test/rig"
)

func TestToolQueriesOverTheList(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("ssq.password", "correct-horse"))
	rules := []string{"hostname", `The "Arena"`, "mapname", "gmtmap1", "numplayers", "2", "maxplayers", "8", "timelimit", "40"}
	for i := range 16 {
		rules = append(rules, fmt.Sprintf("setting%d", i), strings.Repeat("long value ", 6))
	}
	arena := rig.NewHost(t, d.Address["qr2"], rules...)
	arena.OwnPlayers = []string{"Joe", "Jane"}
	arena.MustRegister()
	rig.Register(t, d, "hostname", "Other", "mapname", "gmtmap2", "numplayers", "0", "maxplayers", "4")
	tool := rig.NewQueryTool(t, d)
	here := arena.Address().String()

	t.Run("a stranger gets a token first", func(t *testing.T) {
		tool.T = t
		request := []byte("\x07\x00SELECT hostip,hostname,map")
		got := tool.Exchange(request)
		if len(got) > len(request) || !bytes.HasPrefix(got, []byte("\x07\x00x-token\x00\n\x00")) {
			t.Fatalf("answer %q to %q, want a token that is not longer", got, request)
		}
		token, _, _ := strings.Cut(string(got[len("\x07\x00x-token\x00\n\x00"):]), "\x00")
		got = tool.Exchange(append(append(request, " X-TOKEN "...), token...))
		if want := "\x07\x00hostip\x00hostname\x00map\x00\n\x00"; !bytes.HasPrefix(got, []byte(want)) {
			t.Fatalf("answer %q, want %q and rows", got, want)
		}
		tool.Token = token
	})
	t.Run("info", func(t *testing.T) {
		tool.T = t
		want := wire.Table{Columns: wire.ProcedureFields("info"), Rows: [][]string{{`The "Arena"`, here, "2", "8", "gmtmap1"}}}
		for _, query := range []string{"SP info WHERE numplayers > 0", "SELECT hostname,hostip,numplayers,maxplayers,map WHERE hostname = 'THE \"arena\"' X-HEADER null"} {
			if diff := cmp.Diff(want, tool.MustAsk(query)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", query, diff)
			}
		}
	})
	t.Run("players", func(t *testing.T) {
		tool.T = t
		want := wire.Table{Columns: []string{"playername", "frags"}, Rows: [][]string{{"Joe", "7"}, {"Jane", "7"}}}
		if diff := cmp.Diff(want, tool.MustAsk("SELECT playername,frags WHERE hostip = "+here)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if got := tool.MustAsk("SP players WHERE hostip != " + here); len(got.Rows) != 0 {
			t.Errorf("players of the other server: %q", got.Rows)
		}
	})
	t.Run("rules in several packets", func(t *testing.T) {
		tool.T = t
		got := tool.MustAsk("SP rules WHERE hostip = " + here)
		if tool.Received < 2 || len(got.Rows) < 21 || !slices.ContainsFunc(got.Rows, func(row []string) bool { return row[0] == "timelimit" && row[1] == "40" }) {
			t.Errorf("%d rules in %d packets: %q", len(got.Rows), tool.Received, got.Rows)
		}
	})
	t.Run("columns, version, ping, games", func(t *testing.T) {
		tool.T = t
		if got := tool.MustAsk("CL LONG"); len(got.Rows) != 2 || got.Cell(0, "x-setting3") != "info" || got.Cell(0, "playername") != "players" {
			t.Errorf("CL LONG: %+v", got)
		}
		if got := tool.MustAsk("VERSION"); got.Cell(0, "proto") != "1" || !strings.HasPrefix(got.Cell(0, "server"), "respawnd") {
			t.Errorf("VERSION: %+v", got)
		}
		if got := tool.Exchange([]byte("\x09\x00PING")); string(got) != "\x09\x00j\x00\n" {
			t.Errorf("PING: %q", got)
		}
		if got := tool.MustAsk("SP x-games"); len(got.Rows) != 1 || got.Cell(0, "x-gamename") != rig.TestGame || got.Cell(0, "x-gameservers") != "2" {
			t.Errorf("games: %+v", got)
		}
	})
	t.Run("private columns", func(t *testing.T) {
		tool.T = t
		const query = "SELECT port,x-source,x-local WHERE numplayers > 0"
		if got := tool.MustAsk(query).Columns; len(got) != 1 {
			t.Errorf("without a password: %q", got)
		}
		if got := tool.MustAsk("AUTH wrong-horse"); got.Cell(0, "token") != "" {
			t.Errorf("for a wrong password: %+v", got)
		}
		token := tool.MustAsk("AUTH correct-horse").Cell(0, "token")
		if got := tool.MustAsk(query + " IDENTIFIED " + token); got.Cell(0, "x-source") != here || got.Cell(0, "x-local") != "192.168.7.7:6500" {
			t.Errorf("with a token: %+v", got)
		}
		if log := d.Log.String(); strings.Contains(log, "horse") || strings.Contains(log, token) || strings.Contains(log, tool.Token) {
			t.Errorf("a password or token is in the log:\n%s", log)
		}
	})
	t.Run("refusals", func(t *testing.T) {
		tool.T = t
		if _, err := tool.Try("SELECT port WHERE nowhere = 1"); !errors.Is(err, wire.ErrRefused) || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("error %v, want a refusal that names the column", err)
		}
	})
	d.Stop()
}

func TestToolsOfTrustedNetworksNeedNoToken(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("net.trusted", "127.0.0.0/8"))
	h := rig.Register(t, d, "hostname", "Arena", "mapname", "gmtmap1", "numplayers", "3", "maxplayers", "8")
	tool := rig.NewQueryTool(t, d)
	want := "\x01\x00hostname\x00hostip\x00numplayers\x00maxplayers\x00map\x00\n\x00Arena\x00" + h.Address().String() + "\x003\x008\x00gmtmap1\x00\n\x00"
	if got := string(tool.Exchange([]byte("\x01\x00SP info"))); got != want {
		t.Errorf("answer %q, want %q", got, want)
	}
	if got := tool.MustAsk("AUTH anything"); got.Cell(0, "token") != "" {
		t.Errorf("no password is set, and the answer to AUTH is %+v", got)
	}
	d.Stop()
}
