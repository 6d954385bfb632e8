package records

import (
	"testing"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// An import at the same time may have stored a record under the next id.
func TestNewIDIsFree(t *testing.T) {
	s := openNew(t)
	err := s.change(t.Context(), func(c *change) error {
		c.put(tableUsers, idKey(uint32(1)), storage.User{ID: 1})
		c.put(tableProfiles, idKey(uint32(1)), storage.Profile{ID: 1})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if u, p := newAccount(t, s, "a"); u.ID != 2 || p.ID != 2 {
		t.Errorf("ids %d and %d, want 2 and 2", u.ID, p.ID)
	}
}

func TestIDsRunOut(t *testing.T) {
	s := openNew(t)
	u, _ := newAccount(t, s, "a")
	for table, create := range map[engine.Table]func() error{
		tableProfileIDs: func() error {
			_, err := s.CreateProfile(t.Context(), storage.Profile{User: u.ID, Nick: "b"})
			return err
		},
		tableUserIDs: func() error {
			_, _, err := s.CreateUser(t.Context(), storage.User{Email: "c@example.com"}, storage.Profile{Nick: "c"})
			return err
		},
	} {
		err := s.eng.Update(t.Context(), func(tx engine.Tx) error { return tx.Raise(table, storage.MaxAccountID) })
		if err != nil {
			t.Fatal(err)
		}
		if err := create(); !isFull(err) {
			t.Errorf("after the last of %s: %v, want ErrFull", table, err)
		}
	}
}
