package bolt

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
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
		if err := decodeFields(append(payload, 99, 0), &got); !errors.Is(err, storage.ErrDamaged) {
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
		if err := decodeFields([]byte(payload), &u); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", name, err)
		}
	}
	var p storage.Profile
	if err := decodeFields([]byte("\x04\x03\x01\x02\x09"), &p); !errors.Is(err, storage.ErrDamaged) {
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

// Records of schema 6 are read, and written in the binary form when they change.
func TestRecordsOfSchema6(t *testing.T) {
	s := openAt(t, oldFile(t, "schema6.db"))
	version := func(bucket string) (v byte) {
		value, err := fetchRaw(t, s, bucket, idKey(storage.UserID(1)))
		if err != nil {
			t.Fatal(err)
		}
		return value[0]
	}
	if u, p := version(bucketUsers), version(bucketProfiles); u != recordVersion || p != recordVersion {
		t.Fatalf("versions %d and %d in the old file, want %d", u, p, recordVersion)
	}
	before, err := s.GetProfile(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	before.FirstName = "Ann"
	after, err := s.UpdateProfile(t.Context(), before)
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.GetUser(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	u.Secret = []byte("secret")
	if u, err = s.UpdateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if u, p := version(bucketUsers), version(bucketProfiles); u != fieldsVersion || p != fieldsVersion {
		t.Errorf("versions %d and %d after a change, want %d", u, p, fieldsVersion)
	}
	gotUser, userErr := s.GetUser(t.Context(), 1)
	gotProfile, profileErr := s.GetProfile(t.Context(), 1)
	if err := errors.Join(userErr, profileErr); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(u, gotUser) + cmp.Diff(after, gotProfile); diff != "" {
		t.Errorf("(-stored +read):\n%s", diff)
	}
}

// The file has a third of its former size, and its pages are full.
func TestAccountsAreSmall(t *testing.T) {
	s := openNew(t)
	const accounts = 2000
	for i := range accounts / 100 {
		users := make(chan error, 100)
		for j := range 100 {
			go func() {
				name := strings.Repeat("x", 3) + string(rune('a'+i)) + string(rune('0'+j/10)) + string(rune('0'+j%10))
				u, p := newAccount(name)
				u.Secret = make([]byte, 49)
				p.UniqueNicks = []storage.UniqueNick{{Namespace: 1, Nick: name, Key: name}}
				_, _, err := s.CreateUser(t.Context(), u, p)
				users <- err
			}()
		}
		for range 100 {
			if err := <-users; err != nil {
				t.Fatal(err)
			}
		}
	}
	for bucket, most := range map[string]int{bucketUsers: 140, bucketProfiles: 80, bucketNicks: 50} {
		if got := allocated(t, s, bucket) / accounts; got > most {
			t.Errorf("%s has %d bytes for each account, want at most %d", bucket, got, most)
		}
	}
}

// fetchRaw returns a copy of a value.
func fetchRaw(t *testing.T, s *Store, bucket string, key []byte) (value []byte, err error) {
	t.Helper()
	err = s.view(t.Context(), func(tx *bbolt.Tx) error {
		if value = bytes.Clone(tx.Bucket([]byte(bucket)).Get(key)); value == nil {
			return storage.ErrNotFound
		}
		return nil
	})
	return value, err
}

// allocated returns the bytes of the pages of a bucket.
func allocated(t *testing.T, s *Store, bucket string) (n int) {
	t.Helper()
	err := s.view(t.Context(), func(tx *bbolt.Tx) error {
		stats := tx.Bucket([]byte(bucket)).Stats()
		n = stats.LeafAlloc + stats.BranchAlloc
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
