package binpatch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var toExample = []Replacement{{Old: "gamespy.com", New: "example.org"}}

// program writes a file and returns its path.
func program(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "game.exe")
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// apply changes a file.
func apply(t *testing.T, path string) {
	t.Helper()
	edits, err := Search(path, toExample)
	if err == nil {
		_, err = Apply(path, edits)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestApplyAndUndo(t *testing.T) {
	const before, after = "x\x00master.gamespy.com\x00Visit gamespy.com now\x00", "x\x00master.example.org\x00Visit gamespy.com now\x00"
	path := program(t, before)
	apply(t, path)
	if got := content(t, path); got != after {
		t.Fatalf("changed to %q, want %q", got, after)
	}
	if got := content(t, path+backupSuffix); got != before {
		t.Errorf("copy: %q", got)
	}
	edits, err := Search(path, toExample)
	if !errors.Is(err, ErrPatched) {
		t.Errorf("Search: %v, want ErrPatched", err)
	}
	if _, err := Apply(path, edits); !errors.Is(err, ErrPatched) {
		t.Errorf("second change: %v, want ErrPatched", err)
	}
	if err := Undo(path); err != nil || content(t, path) != before {
		t.Fatalf("undone: %v, %q, want %q", err, content(t, path), before)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("files: %v, %v, want one", list, err)
	}
	if err := Undo(path); !errors.Is(err, ErrNotPatched) {
		t.Errorf("second undo: %v, want ErrNotPatched", err)
	}
}

func TestUndoRefuses(t *testing.T) {
	const before = "master.gamespy.com\x00"
	for name, tc := range map[string]struct {
		suffix string
		want   error
	}{
		"the file was written": {"", ErrChanged},
		"the copy was written": {backupSuffix, ErrBackup},
	} {
		t.Run(name, func(t *testing.T) {
			path := program(t, before)
			apply(t, path)
			if err := os.WriteFile(path+tc.suffix, []byte("another"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Undo(path); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
			if got := content(t, path+tc.suffix); got != "another" {
				t.Errorf("left %q", got)
			}
		})
	}
}

// TestStops has the files that a stop of the machine leaves between two steps.
func TestStops(t *testing.T) {
	const before = "master.gamespy.com\x00"
	path := program(t, before)
	apply(t, path)
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil { // the record was written, the program was not
		t.Fatal(err)
	}
	if err := Undo(path); err != nil {
		t.Fatal(err)
	}
	apply(t, path)
}

func TestMoved(t *testing.T) {
	path := program(t, "master.gamespy.com\x00")
	edits, err := Search(path, toExample)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("Master.gamespy.com\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(path, edits); !errors.Is(err, errMoved) {
		t.Errorf("a file that changed meanwhile: %v", err)
	}
	if got := content(t, path); got != "Master.gamespy.com\x00" {
		t.Errorf("left %q", got)
	}
}

// peFile returns a PE program of 32 bits without code, with a section, and with a
// signature of so many bytes.
func peFile(section string, signature uint32) string {
	const optional = 96 + 16*8
	b := make([]byte, 64)
	copy(b, "MZ")
	binary.LittleEndian.PutUint32(b[60:], 64)
	b = append(b, "PE\x00\x00"...)
	for _, v := range []any{uint16(0x14c), uint16(1), uint32(0), uint32(0), uint32(0), uint16(optional), uint16(0x102)} {
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	header := make([]byte, optional)
	binary.LittleEndian.PutUint16(header, 0x10b)
	binary.LittleEndian.PutUint32(header[92:], 16)
	binary.LittleEndian.PutUint32(header[96+8*certificates+4:], signature)
	b = append(b, header...)
	name := make([]byte, 40)
	copy(name, section)
	return string(append(b, name...)) + "\x00master.gamespy.com\x00"
}

func TestCheckProgram(t *testing.T) {
	machO := func(command uint32) string {
		var b []byte
		for _, v := range []uint32{0xfeedface, 7, 3, 2, 1, 16, 0, command, 16, 0, 0} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return string(b)
	}
	for name, tc := range map[string]struct {
		file string
		want error
	}{
		"text":          {"gamespy.com", nil},
		"plain":         {peFile(".text", 0), nil},
		"packed":        {peFile("UPX0", 0), ErrPacked},
		"signed":        {peFile(".text", 4096), ErrSigned},
		"macOS":         {machO(0x99), nil},
		"macOS, signed": {machO(loadCodeSignature), ErrSigned},
	} {
		t.Run(name, func(t *testing.T) {
			if err := CheckProgram(strings.NewReader(tc.file)); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
	path := program(t, peFile(".text", 4096))
	edits, err := Search(path, toExample)
	if !errors.Is(err, ErrSigned) || len(edits) != 1 {
		t.Errorf("Search of a signed program: %v, %v, want its places and ErrSigned", edits, err)
	}
	if _, err := Apply(path, edits); !errors.Is(err, ErrSigned) {
		t.Errorf("Apply to a signed program: %v", err)
	}
}

func FuzzCheckProgram(f *testing.F) {
	f.Add([]byte(peFile("UPX0", 1)))
	f.Add([]byte{0xce, 0xfa, 0xed, 0xfe})
	f.Fuzz(func(_ *testing.T, file []byte) { _ = CheckProgram(bytes.NewReader(file)) })
}

func TestSearchRefuses(t *testing.T) {
	if _, err := Search(t.TempDir(), toExample); err == nil {
		t.Error("a folder was searched")
	}
	if _, err := Search(filepath.Join(t.TempDir(), "none"), toExample); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Search(program(t, ""), []Replacement{{}}); err == nil {
		t.Error("an empty replacement was accepted")
	}
}
