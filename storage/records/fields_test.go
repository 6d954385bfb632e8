package records

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// fill sets everything in v that can be set, so that no part is zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Int, reflect.Int32:
		v.SetInt(-3)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(200)
	case reflect.String:
		v.SetString("J\xf6rg")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(1969, 11, 1, 12, 0, 0, 999, time.UTC)))
			return
		}
		for _, field := range v.Fields() {
			fill(field)
		}
	default:
		panic(v.Kind().String() + " has no form in a record")
	}
}

// checkFields checks that a record without zero fields is read as it was written, and
// that no part of it is read as another record.
func checkFields[R any](t *testing.T) {
	t.Helper()
	var full R
	fill(reflect.ValueOf(&full).Elem())
	for _, record := range []R{full, *new(R)} {
		payload, ok := appendFields(record)
		if !ok {
			t.Fatalf("%T has no binary form", record)
		}
		var got R
		if err := decodeFields(payload, &got); err != nil {
			t.Errorf("decodeFields() = %v", err)
		}
		if diff := cmp.Diff(record, got); diff != "" {
			t.Errorf("%T (-written +read):\n%s", record, diff)
		}
		if err := decodeFields(append(payload, 99, 0), &got); !isDamage(err) {
			t.Errorf("decodeFields() of an unknown field = %v, want ErrDamaged", err)
		}
		if diff := cmp.Diff(*new(R), got); diff != "" {
			t.Errorf("after an error the record is not zero:\n%s", diff)
		}
	}
}

func TestFields(t *testing.T) {
	checkFields[storage.User](t)
	checkFields[storage.Profile](t)
}

func TestFieldsRefuse(t *testing.T) {
	for name, payload := range map[string]string{
		"a text beyond the end":    "\x03\x05ann",
		"a length of ten bytes":    "\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
		"a number without its end": "\x01\x80",
		"a number beyond its kind": "\x08\x01", // Passwords is not below 0
		"words of 7 bytes":         "\x09\x071234567",
		"a second of 2e9 ns":       "\x0e\x02\x80\xa8\xd6\xb9\x07",
		"a time without its end":   "\x0e\x02",
		"tags in another order":    "\x0f\x02\x01\x02",
		"a tag twice":              "\x01\x02\x01\x02",
	} {
		var u storage.User
		if err := decodeFields([]byte(payload), &u); !isDamage(err) {
			t.Errorf("%s: %v, want ErrDamaged", name, err)
		}
	}
	var p storage.Profile
	if err := decodeFields([]byte("\x04\x03\x01\x02\x09"), &p); !isDamage(err) {
		t.Errorf("an item with a wrong field: %v, want ErrDamaged", err)
	}
}

func FuzzFields(f *testing.F) {
	for _, record := range []any{
		storage.User{ID: 1, Email: "a@example.com", Homes: []uint64{1}, Created: time.Unix(1, 1), Rev: 7},
		storage.Profile{ID: 1, Nick: "a", UniqueNicks: []storage.UniqueNick{{Namespace: 1}}, CDKeys: []storage.CDKey{{Game: "g"}}, ICQ: -1},
	} {
		payload, _ := appendFields(record)
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		fuzzFields[storage.User](t, payload)
		fuzzFields[storage.Profile](t, payload)
	})
}

func fuzzFields[R any](t *testing.T, payload []byte) {
	t.Helper()
	var record, again R
	if err := decodeFields(payload, &record); err != nil {
		return
	}
	written, _ := appendFields(record)
	if err := decodeFields(written, &again); err != nil || !reflect.DeepEqual(record, again) {
		t.Errorf("%q: %+v is read as %+v, %v", payload, record, again, err)
	}
}

// Records in JSON, as older versions wrote them, are read, and written in the binary form
// when they change.
func TestRecordsInJSON(t *testing.T) {
	s := openNew(t)
	u, p := newAccount(t, s, "a")
	key := idKey(u.ID)
	for table, record := range map[engine.Table]any{tableUsers: u, tableProfiles: p} {
		payload, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		damage(t, s, table, key, sealRecord(key, payload, nil))
	}
	version := func(table engine.Table) byte {
		v, err := look(t.Context(), s, func(v *view) byte { return v.get(table, key)[0] })
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	gotUser, userErr := s.GetUser(t.Context(), u.ID)
	gotProfile, profileErr := s.GetProfile(t.Context(), p.ID)
	if diff := cmp.Diff(u, gotUser) + cmp.Diff(p, gotProfile); diff != "" || userErr != nil || profileErr != nil {
		t.Fatalf("%v, %v (-stored +read):\n%s", userErr, profileErr, diff)
	}
	if u, p := version(tableUsers), version(tableProfiles); u != recordVersion || p != recordVersion {
		t.Fatalf("versions %d and %d, want %d", u, p, recordVersion)
	}
	if _, err := s.UpdateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if _, err := s.UpdateProfile(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if u, p := version(tableUsers), version(tableProfiles); u != fieldsVersion || p != fieldsVersion {
		t.Errorf("versions %d and %d after a change, want %d", u, p, fieldsVersion)
	}
}

// An account takes little room.
func TestAccountsAreSmall(t *testing.T) {
	u := storage.User{ID: 1 << 20, Email: "player1234@example.com", Secret: make([]byte, 49), Created: time.Now(), Rev: 1 << 20}
	p := storage.Profile{
		ID: 1 << 20, User: 1 << 20, Nick: "player1234", Created: time.Now(), Rev: 1 << 20,
		UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "player1234", Key: "player1234"}},
	}
	for most, record := range map[int]any{115: u, 75: p} {
		value, err := encode(idKey(u.ID), record)
		if err != nil || len(value) > most {
			t.Errorf("%T has %d bytes, %v, want at most %d", record, len(value), err, most)
		}
	}
}
