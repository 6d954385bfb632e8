package masters

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/test/rig"
)

// background runs a program until the test ends and returns its output.
func background(t *testing.T, program string, args ...string) *rig.Screen {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	out := new(rig.Screen)
	cmd.Stdout, cmd.Stderr = out, out
	rig.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return out
}

// TestOpenArena lets a real server register and a real browser list it.
func TestOpenArena(t *testing.T) {
	rig.Qstat(t)
	server := rig.Program(t, "openarena-server", "openarena-server")
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	out := background(t, server, "+set", "fs_homepath", t.TempDir(), "+set", "dedicated", "2",
		"+set", "net_enabled", "1", "+set", "net_ip", rig.Home.String(), "+set", "sv_master1", d.Address["q3master"].String(),
		"+set", "sv_master2", "", "+set", "sv_master3", "", "+set", "sv_master4", "", "+set", "sv_master5", "",
		"+set", "sv_hostname", "^1The ^7Inn", "+map", "oa_dm1")
	listsEngine(t, d, out, quake3.Request{Protocol: 71, Empty: true}, "openarena", "oa_dm1")
	wantQuakestat(t, "q3m,71,empty,full", d.Address["q3master"], "The Inn")
	d.Stop()
}

// TestDarkPlaces does the same with the engine of Xonotic, whose heartbeat and list
// name the game. Its data are the test's own: a map without a room and a game without
// a rule.
func TestDarkPlaces(t *testing.T) {
	rig.Qstat(t)
	server, compiler := rig.Program(t, "darkplaces-server", "darkplaces-server"), rig.Program(t, "fteqcc", "fteqcc")
	t.Parallel()
	base := emptyGame(t, compiler, "darkplaces", "data", "progs.dat")
	d := rig.Start(t, t.TempDir())
	out := background(t, server, "-xonotic", "-basedir", base, "-userdir", t.TempDir(), "-ip", rig.Home.String(),
		"+sv_public", "1", "+hostname", "The Inn", "+sv_master1", d.Address["q3master"].String(), "+map", "void")
	listsEngine(t, d, out, quake3.Request{Game: []byte("Xonotic"), Protocol: 3, Empty: true}, "xonotic", "void")
	wantQuakestat(t, "xonoticm", d.Address["q3master"], "The Inn")
	d.Stop()
}

// TestMVDSV does the same with a server of QuakeWorld, whose heartbeat says nothing: it is proved by
// its answers to questions from random ports.
func TestMVDSV(t *testing.T) {
	rig.Qstat(t)
	server, compiler := rig.Program(t, "mvdsv", "mvdsv"), rig.Program(t, "fteqcc", "fteqcc")
	t.Parallel()
	base := emptyGame(t, compiler, "mvdsv", "qw", "qwprogs.dat")
	d := rig.Start(t, t.TempDir())
	background(t, server, "-basedir", base, "-ip", rig.Home.String(),
		"+hostname", "The Inn", "+setmaster", d.Address["qwmaster"].String(), "+map", "void")
	address := rig.Home.String() + ":27500"
	rig.Appears(t, d, address)
	if got, want := listedBy(t, d, "quakeworld"), []string{address + " The Inn void quakeworld"}; !slices.Equal(got, want) {
		t.Errorf("JSON %v, want %v", got, want)
	}
	wantQuakestat(t, "qwm", d.Address["qwmaster"], "The Inn")
	d.Stop()
}

// emptyGame returns a folder with a game without a rule, in the folder data, and a map without a room.
func emptyGame(t *testing.T, compiler, source, data, program string) (base string) {
	t.Helper()
	base = t.TempDir()
	data = filepath.Join(base, data)
	rig.Must(t, os.MkdirAll(filepath.Join(data, "maps"), 0o700))
	rig.Must(t, os.WriteFile(filepath.Join(data, "maps", "void.bsp"), emptyMap(), 0o600))
	text, err := os.ReadFile(filepath.Join("testdata", source, "game.qc"))
	rig.Must(t, err)
	rig.Must(t, os.WriteFile(filepath.Join(data, "game.qc"), text, 0o600))
	rig.Must(t, os.WriteFile(filepath.Join(data, "progs.src"), []byte(program+"\ngame.qc\n"), 0o600))
	compile := exec.CommandContext(t.Context(), compiler)
	compile.Dir = data
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return base
}

// listsEngine waits until a server is listed and checks the list that players get.
func listsEngine(t *testing.T, d *rig.Running, out *rig.Screen, r quake3.Request, game, level string) {
	t.Helper()
	d.WaitFor("the server is listed", 0, func(e rig.Entry) bool {
		return e.Text("service") == "q3master" && e.Text("verdict") == "listed"
	})
	list := quake3Servers(t, d, "q3master", r)
	if len(list) != 1 {
		t.Fatalf("list %v\n%s", list, out)
	}
	got := listedJSON(t, d, game)
	if len(got) != 1 || got[0].Map != level || got[0].Address != list[0].String() {
		t.Errorf("JSON %+v", got)
	}
}

// emptyMap returns a map of Quake's format 29: one plane, with a leaf on one side and
// nothing on the other.
func emptyMap() []byte {
	const (
		version = 29
		half    = 64 // of the edge of the world
		empty   = -1
		solid   = -2
	)
	le := binary.LittleEndian
	box := []int16{-half, -half, -half, half, half, half}
	pack := func(values ...any) (b []byte) {
		for _, v := range values {
			var err error
			if b, err = binary.Append(b, le, v); err != nil {
				panic(err) // a type of no fixed size
			}
		}
		return b
	}
	leaf := func(content int32) []byte {
		return pack(content, int32(-1), box, [2]uint16{}, [4]byte{})
	}
	lumps := [15][]byte{
		0:  []byte("{\n\"classname\" \"worldspawn\"\n}\n\x00"),
		1:  pack([]float32{1, 0, 0, 0}, int32(0)),
		2:  pack(int32(0)), // no texture
		5:  pack(int32(0), []int16{-1, -2}, box, [2]uint16{}),
		9:  pack(int32(0), []int16{-1, -1}),
		10: slices.Concat(leaf(solid), leaf(empty)),
		14: pack([]float32{-half, -half, -half, half, half, half, 0, 0, 0}, [4]int32{}, []int32{1, 0, 0}),
	}
	header, body := pack(int32(version)), []byte(nil)
	at := len(header) + 8*len(lumps)
	for _, lump := range lumps {
		header = append(header, pack(int32(at+len(body)), int32(len(lump)))...)
		body = append(body, lump...)
		body = append(body, make([]byte, -len(lump)&3)...)
	}
	return append(header, body...)
}
