package selftest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices"
)

// recordTable is the table of SAKE that the self-test uses. It stays, without records.
const recordTable = "selftest"

// storeRecord creates an account as games do, and stores, finds and deletes a record of its
// player with the ticket of the sign-in. It deletes the account.
func storeRecord(ctx context.Context, t *service.Trial) (err error) {
	all, err := t.Accounts(ctx)
	if err != nil {
		return err
	}
	a, _, err := makeAccount(ctx, t, all)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, deleteAccount(ctx, all, a.Email)) }()
	player, err := connect(ctx, t)
	if err == nil {
		defer func() { _ = player.Close() }()
		err = player.Login(netclient.Bound(ctx, service.StepTimeout), gpcm.Login{By: "uniquenick", Name: a.Nick, Password: a.Password, Game: a.Game})
	}
	if err != nil {
		return fmt.Errorf("gpcm: %w", err)
	}
	if err := tryRecord(ctx, &webservices.Storage{
		Client: webservices.Client{Address: t.Address("webservices"), Host: t.Game + ".sake." + t.Domain},
		Secret: t.Secret, Ticket: player.Ticket,
	}); err != nil {
		return fmt.Errorf("webservices: %w", err)
	}
	return nil
}

// tryRecord stores, finds and deletes a record.
func tryRecord(ctx context.Context, s *webservices.Storage) error {
	text := "hello " + rand.Text()
	id, err := s.Create(netclient.Bound(ctx, service.StepTimeout), recordTable,
		storage.SakeField{Name: "text", Value: storage.SakeValue{Type: storage.SakeASCII, Text: []byte(text)}})
	if err != nil {
		return err
	}
	find := func() ([][]string, error) {
		return s.Search(netclient.Bound(ctx, service.StepTimeout), recordTable, fmt.Sprintf("recordid = %d and text like 'hello%%'", id), "text")
	}
	found, err := find()
	if err == nil && (len(found) != 1 || !slices.Equal(found[0], []string{text})) {
		err = fmt.Errorf("the record came as %q, want %q", found, text)
	}
	// It is deleted after an error too; with the account it would go anyway.
	if err := errors.Join(err, s.Delete(netclient.Bound(ctx, service.StepTimeout), recordTable, id)); err != nil {
		return err
	}
	found, err = find()
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("a deleted record is found: %q", found)
	}
	return err
}
