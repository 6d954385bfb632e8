package binpatch

import (
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Errors of programs that must not be changed.
var (
	ErrSigned = errors.New("the program is signed: a changed one does not start, or is taken for a virus")
	ErrPacked = errors.New("the program is packed: its texts are compressed or encrypted, and it checks itself")
)

// packers are the beginnings of the names of sections that packers leave.
var packers = []string{"UPX", ".aspack", ".adata", "ASPack", "PEC2", ".petite", "MPRESS", ".themida", ".winlice", ".vmp", ".nsp", "FSG!", ".securom", ".stxt", ".bind"}

// certificates is the number of the table of a PE file with its signature.
const certificates = 4

// loadCodeSignature is the command of a Mach-O file that has its signature.
const loadCodeSignature = 0x1D

// CheckProgram returns an error for a program that is signed or packed. Files of other
// kinds pass.
func CheckProgram(file io.ReaderAt) error {
	if f, err := pe.NewFile(file); err == nil {
		return checkPE(f)
	}
	if f, err := macho.NewFile(file); err == nil {
		return checkMachO(f)
	}
	return nil
}

func checkPE(f *pe.File) error {
	for _, s := range f.Sections {
		for _, p := range packers {
			if strings.HasPrefix(s.Name, p) {
				return fmt.Errorf("%w (section %q)", ErrPacked, s.Name)
			}
		}
	}
	var tables []pe.DataDirectory
	switch h := f.OptionalHeader.(type) {
	case *pe.OptionalHeader32:
		tables = h.DataDirectory[:min(h.NumberOfRvaAndSizes, uint32(len(h.DataDirectory)))]
	case *pe.OptionalHeader64:
		tables = h.DataDirectory[:min(h.NumberOfRvaAndSizes, uint32(len(h.DataDirectory)))]
	}
	if len(tables) > certificates && tables[certificates].Size > 0 {
		return ErrSigned
	}
	return nil
}

func checkMachO(f *macho.File) error {
	for _, l := range f.Loads {
		if raw := l.Raw(); len(raw) >= 4 && f.ByteOrder.Uint32(raw) == loadCodeSignature {
			return ErrSigned
		}
	}
	return nil
}
