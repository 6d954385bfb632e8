package sake

import (
	"math"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// values reads the fields of a record from a request.
func (c *call) values() ([]storage.SakeField, error) {
	list := c.q.Body.Child("values")
	if list == nil {
		return nil, nil
	}
	if len(list.Children) > c.limits.FieldsPerRecord {
		return nil, recordLimitReached
	}
	fields := make([]storage.SakeField, 0, len(list.Children))
	seen := make(map[string]bool, len(list.Children))
	for _, e := range list.Children {
		f, err := c.value(e)
		if err != nil {
			return nil, err
		}
		folded := ascii.ToLower(f.Name)
		if seen[folded] {
			return nil, fieldNotFound
		}
		seen[folded] = true
		fields = append(fields, f)
	}
	return fields, nil
}

func (c *call) value(e *soap.Element) (f storage.SakeField, err error) {
	f.Name = e.Text("name")
	if storage.CheckSakeName("field", f.Name) != nil || strings.ContainsRune(f.Name, '.') {
		return f, fieldNotFound
	}
	if automaticByName(f.Name) != stored {
		return f, noPermission
	}
	outer := e.Child("value")
	if outer == nil || len(outer.Children) != 1 {
		return f, fieldTypeInvalid
	}
	typed := outer.Children[0]
	kind := storage.SakeTypeByName(typed.Name)
	text := signed(kind, typed.Text("value"))
	if len(c.table.Fields) > 0 {
		want, ok := c.table.Field(f.Name)
		switch {
		case !ok:
			return f, fieldNotFound
		case typeOf(want) != kind:
			return f, fieldTypeInvalid
		}
	}
	if f.Value, err = storage.ParseSakeValue(kind, text); err != nil || size(&f.Value) > c.limits.ValueSize {
		return f, fieldTypeInvalid
	}
	return f, nil
}

// signed returns the text of a number with its sign: the client library of 2012 writes negative
// ones of 16 and 32 bits as unsigned ones of 32 bits.
func signed(kind storage.SakeType, text string) string {
	if kind != storage.SakeInt && kind != storage.SakeShort {
		return text
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n <= math.MaxInt32 {
		return text
	}
	return strconv.Itoa(int(int32(n)))
}

func typeOf(f games.TableField) storage.SakeType { return storage.SakeTypeByName(f.Wire()) }

// size returns the bytes of a value that count as its size.
func size(v *storage.SakeValue) int { return max(len(v.Text), 1) }

// field is a field that a request asks for.
type field struct {
	name  string // of the stored field
	auto  automatic
	file  fileField
	empty storage.SakeValue // value for records that lack it
}

// fileField is a property of the file that a field names.
type fileField uint8

const (
	noFile fileField = iota
	fileSize
	fileCreated
	fileDownloads
)

// fileFields are the properties by the suffix of the field's name.
var fileFields = map[string]fileField{"size": fileSize, "create_time": fileCreated, "downloads": fileDownloads}

// value returns the value of a property of the file that v names.
func (f fileField) value(files Files, v storage.SakeValue) storage.SakeValue {
	out := storage.SakeValue{Type: storage.SakeInt}
	if f == fileCreated {
		out.Type = storage.SakeDate
	}
	if files == nil || !v.Type.IsNumber() || v.Type == storage.SakeFloat {
		return out
	}
	size, created, downloads, ok := files.Info(v.Num)
	switch {
	case !ok:
	case f == fileSize:
		out.Num = size
	case f == fileDownloads:
		out.Num = downloads
	default:
		out.Num = created.Unix()
	}
	return out
}

// maxFields is the number of fields that a request asks for.
const maxFields = storage.MaxSakeFields

// fields reads the fields that a request asks for.
func (c *call) fields(t *storage.SakeTable) ([]field, error) {
	list := c.q.Body.Child("fields")
	if list == nil {
		return nil, nil
	}
	if len(list.Children) > maxFields {
		return nil, fieldNotFound
	}
	fields := make([]field, 0, len(list.Children))
	for _, e := range list.Children {
		f, err := c.field(t, e.Value)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func (c *call) field(t *storage.SakeTable, name string) (field, error) {
	if auto := automaticByName(name); auto != stored {
		return field{auto: auto}, nil
	}
	f := field{name: name}
	if before, after, ok := strings.Cut(name, "."); ok {
		if f.file = fileFields[ascii.ToLower(after)]; f.file == noFile {
			return f, fieldNotFound
		}
		f.name = before
	}
	if declared, ok := c.table.Field(f.name); ok {
		f.empty = typeOf(declared).Empty()
	} else if i := t.Column(f.name); i >= 0 {
		f.empty = t.Columns[i].Type.Empty()
	} else {
		return f, fieldNotFound
	}
	return f, nil
}

// isDeclared reports whether the games file has a column of the table.
func isDeclared(t *games.Table) func(name string) bool {
	return func(name string) bool { _, ok := t.Field(name); return ok }
}

func writeRecord(w *soap.Writer, rec *storage.SakeRecord, mine int, fields []field, files Files) {
	w.Open("ArrayOfRecordValue")
	for i := range fields {
		f := &fields[i]
		v := f.empty
		if f.auto != stored {
			v = f.auto.value(rec.ID, rec.Owner, rec.Ratings, rec.RatingSum, mine)
		} else if got, ok := rec.Field(f.name); ok {
			v = got
		}
		if f.file != noFile {
			v = f.file.value(files, v)
		}
		writeValue(w, &v)
	}
	w.Close()
}

func writeValue(w *soap.Writer, v *storage.SakeValue) {
	w.Open("RecordValue")
	w.Open(v.Type.String())
	w.Text("value", v.String())
	w.Close()
	w.Close()
}
