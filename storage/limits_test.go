package storage

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// bounded is a limit of a record. check checks a record of size n.
type bounded struct {
	limit int
	check func(n int) error
}

func text(n int) string { return strings.Repeat("x", n) }

func TestLimits(t *testing.T) {
	hash := strings.Repeat("0", productHashLen)
	user := func(change func(*User)) error {
		u := User{ID: 1, Email: "a@b.c"}
		change(&u)
		_, err := u.Canonical()
		return err
	}
	productKey := func(k ProductKey) error {
		k.Hash, k.Banned = hash, true
		_, err := k.Canonical()
		return err
	}
	patch := func(change func(*Patch)) error {
		p := Patch{PatchID: PatchID{Version: "1.0"}, Name: "1.1"}
		change(&p)
		_, err := p.Canonical()
		return err
	}
	file := func(change func(*File)) error {
		f := File{Game: "gmtest", Owner: 1, Hash: strings.Repeat("0", fileHashLen)}
		change(&f)
		_, err := f.Canonical()
		return err
	}
	motd := func(m Motd) error { _, err := m.Canonical(); return err }

	for name, tc := range map[string]bounded{
		"id of a user":        {MaxAccountID, func(n int) error { return user(func(u *User) { u.ID = UserID(n) }) }},
		"e-mail":              {MaxEmail, func(n int) error { return user(func(u *User) { u.Email = text(n) }) }},
		"sealed secret":       {MaxSealed, func(n int) error { return user(func(u *User) { u.Secret = make([]byte, n) }) }},
		"sealed password":     {MaxSealed, func(n int) error { return user(func(u *User) { u.Password = make([]byte, n) }) }},
		"homes of a user":     {MaxHomes, func(n int) error { return user(func(u *User) { u.Homes = make([]uint64, n) }) }},
		"ban reason":          {MaxBanReason, func(n int) error { return user(func(u *User) { u.Ban.Reason = text(n) }) }},
		"ban author":          {MaxBanBy, func(n int) error { return user(func(u *User) { u.Ban.By = text(n) }) }},
		"product of a CD key": {maxProductNumber, func(n int) error { return productKey(ProductKey{ProductKeyID: ProductKeyID{Product: n}}) }},
		"sealed CD key":       {MaxSealedKey, func(n int) error { return productKey(ProductKey{Sealed: make([]byte, n)}) }},
		"reason of a CD key":  {MaxBanReason, func(n int) error { return productKey(ProductKey{Reason: text(n)}) }},
		"product of a patch":  {maxPatchNumber, func(n int) error { return patch(func(p *Patch) { p.Product = n }) }},
		"version of a patch":  {MaxVersion, func(n int) error { return patch(func(p *Patch) { p.Version = text(n) }) }},
		"name of a patch":     {MaxNewsValue, func(n int) error { return patch(func(p *Patch) { p.Name = text(n) }) }},
		"file of a patch":     {maxPatchNumber, func(n int) error { return patch(func(p *Patch) { p.File = n }) }},
		"message of the day":  {MaxNewsValue, func(n int) error { return motd(Motd{Game: "gmtest", Text: text(n)}) }},
		"game of a message":   {MaxMotdGame, func(n int) error { return motd(Motd{Game: text(n), Text: "hi"}) }},
		"name of a file":      {MaxFileName, func(n int) error { return file(func(f *File) { f.Name = text(n) }) }},
		"game of a file":      {MaxFileGame, func(n int) error { return file(func(f *File) { f.Game = text(n) }) }},
		"size of a file":      {MaxFileSize, func(n int) error { return file(func(f *File) { f.Size = int64(n) }) }},
		"downloads of a file": {maxDownloads, func(n int) error { return file(func(f *File) { f.Downloads = int64(n) }) }},
		"fields of a record":  {MaxSakeFields, func(n int) error { return CheckSakeFields(manyFields(n)) }},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.check(tc.limit); err != nil {
				t.Errorf("at the limit of %d: %v", tc.limit, err)
			}
			if err := tc.check(tc.limit + 1); !errors.Is(err, ErrInvalid) {
				t.Errorf("beyond the limit of %d: %v, want ErrInvalid", tc.limit, err)
			}
		})
	}
}

func manyFields(n int) []SakeField {
	fields := make([]SakeField, n)
	for i := range fields {
		fields[i] = SakeField{Name: fmt.Sprint("f", i), Value: SakeValue{Type: SakeInt}}
	}
	return fields
}
