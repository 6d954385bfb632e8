package operator

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/bans"
)

// A Field is a field of the input of an operation, by its tags:
//
//	path:"id"     the part {id} of the path
//	query:"game"  a parameter of the query; empty and missing are the same, and refused with
//	              `query:"address,required"`
//	json:"game"   a field of the body, which has all fields with that tag and no other
//	secret:"true" errors do not quote the body
//	arg:"NAME"    the next argument of the command; [NAME] may be missing, NAME... takes all further ones
//	lookup:"NAME" the same, which the command has to look up
//	flag:"scope"  a flag of the command; a time is given as a span from now
//	upto:"3"      the argument is a number from 0 to that; without it, numbers are above 0
//	default:"all" the value on the command line without the flag, and without a parameter
//	needed:"true" the flag has to be given
//	doc:"..."     the help of the flag, or what the argument has to be, with ' for a backquote
type Field struct {
	Path, Query, JSON       string
	Arg, Flag, Default, Doc string

	LookedUp bool // Arg is to be looked up
	Needed   bool // Flag has to be given

	upTo             string
	required, secret bool
	index            []int
}

// Fields returns the fields of the input, those of embedded structs among them.
func (o *Operation) Fields() []Field { return fieldsOf(o.input) }

func fieldsOf(input reflect.Type) (list []Field) {
	if input.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(input) {
		if f.Anonymous && f.Type.Kind() == reflect.Struct || !f.IsExported() {
			continue
		}
		tag := f.Tag.Get
		query, option, _ := strings.Cut(tag("query"), ",")
		name, _, _ := strings.Cut(tag("json"), ",")
		list = append(list, Field{
			Path: tag("path"), Query: query, JSON: strings.TrimPrefix(name, "-"), Arg: tag("arg") + tag("lookup"), LookedUp: tag("lookup") != "",
			Needed: tag("needed") != "", Flag: tag("flag"), Default: tag("default"), Doc: strings.ReplaceAll(tag("doc"), "'", "`"),
			upTo: tag("upto"), required: option == "required", secret: tag("secret") != "", index: f.Index,
		})
	}
	return list
}

// Of returns a pointer to the field of the input that in points to.
func (f *Field) Of(in any) any { return f.of(reflect.ValueOf(in).Elem()).Addr().Interface() }

// Set sets the field of the input that in points to from an argument or a default of a command.
func (f *Field) Set(in any, text string) error {
	v := f.of(reflect.ValueOf(in).Elem())
	if f.upTo != "" {
		limit, _ := strconv.ParseUint(f.upTo, 10, 31)
		if n, err := strconv.ParseUint(text, 10, 31); err != nil || n > limit {
			return fmt.Errorf("not a number from 0 to %d", limit)
		}
	} else if f.Arg != "" && (v.CanInt() || v.CanUint()) {
		return setPath(v, text)
	}
	return setText(v, f.Arg, text, "")
}

func (f *Field) of(in reflect.Value) reflect.Value { return in.FieldByIndex(f.index) }

// A coded value has a form of its own in bodies.
type coded interface {
	contentType() string
	encode() []byte
	decode(doc []byte) error
}

// Read returns the input that a request holds.
func (o *Operation) Read(r *http.Request) (in any, err error) {
	v, fields := reflect.New(o.input), o.Fields()
	if err := readURL(r, v.Elem(), fields); err != nil {
		return nil, err
	}
	if err := o.readBody(r.Body, v.Interface(), fields); err != nil {
		return nil, err
	}
	return v.Elem().Interface(), nil
}

// FromURL returns the fields of an input that the path and the query of a request hold.
func FromURL[In any](r *http.Request) (in In, err error) {
	v := reflect.ValueOf(&in).Elem()
	return in, readURL(r, v, fieldsOf(v.Type()))
}

func readURL(r *http.Request, in reflect.Value, fields []Field) (err error) {
	query := r.URL.Query()
	for i := range fields {
		f := &fields[i]
		switch text := query.Get(f.Query); {
		case f.Path != "":
			err = setPath(f.of(in), r.PathValue(f.Path))
		case f.Query != "" && (text != "" || f.required):
			err = setText(f.of(in), f.Query, text, f.Default)
		case f.Query != "" && f.Default != "":
			err = setText(f.of(in), f.Query, f.Default, f.Default)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
	}
	return nil
}

func (o *Operation) readBody(body io.Reader, v any, fields []Field) error {
	var err error
	switch c, ok := v.(coded); {
	case ok:
		var doc []byte
		if doc, err = io.ReadAll(body); err == nil {
			err = c.decode(doc)
		}
	case hasBody(fields):
		err = decodeOne(body, v)
	}
	for i := range fields {
		if err != nil && fields[i].secret {
			return fmt.Errorf("%w: the body is not valid", ErrBadRequest)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	return nil
}

func hasBody(fields []Field) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.JSON != "" })
}

// decodeOne decodes exactly one value of JSON.
func decodeOne(body io.Reader, v any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// Request returns the path with the query, and the body, of a request with an input.
func (o *Operation) Request(in any) (path string, body []byte, err error) {
	v := reflect.New(o.input)
	v.Elem().Set(reflect.ValueOf(in))
	query, fields := url.Values{}, o.Fields()
	path = o.Path()
	for i := range fields {
		f := &fields[i]
		switch value := f.of(v.Elem()); {
		case f.Path != "":
			path = strings.Replace(path, "{"+f.Path+"}", url.PathEscape(textOf(value)), 1)
		case f.Query != "" && (!value.IsZero() || f.Default != ""):
			query.Set(f.Query, textOf(value))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if c, ok := reflect.TypeAssert[coded](v); ok {
		return path, c.encode(), nil
	}
	if hasBody(fields) {
		body, err = json.Marshal(in)
	}
	return path, body, err
}

// Encode returns the body of an answer.
func (o *Operation) Encode(out any) (contentType string, body []byte, err error) {
	v := reflect.New(o.output)
	v.Elem().Set(reflect.ValueOf(out))
	if c, ok := reflect.TypeAssert[coded](v); ok {
		return c.contentType(), c.encode(), nil
	}
	body, err = json.Marshal(out)
	return "application/json", append(body, '\n'), err
}

// Decode reads the body of an answer.
func (o *Operation) Decode(body io.Reader) (out any, err error) {
	v := reflect.New(o.output)
	if c, ok := reflect.TypeAssert[coded](v); ok {
		doc, err := io.ReadAll(body)
		if err == nil {
			err = c.decode(doc)
		}
		return v.Elem().Interface(), err
	}
	err = json.NewDecoder(body).Decode(v.Interface())
	return v.Elem().Interface(), err
}

// textOf returns a value of a path or a query as text.
func textOf(v reflect.Value) string {
	v = reflect.Indirect(v)
	if t, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
		text, _ := t.MarshalText() // the daemon refuses a value without a text
		return string(text)
	}
	return fmt.Sprint(v.Interface())
}

// setPath sets a part of a path: a text, or a number above 0.
func setPath(v reflect.Value, text string) error {
	if v.Kind() == reflect.String {
		v.SetString(text)
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return errors.New("the id is not a number above 0")
	}
	v.SetUint(n)
	return nil
}

// setText sets a parameter of a query. Numbers are not below 0 unless their default is.
func setText(v reflect.Value, name, text, byDefault string) (err error) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch p := v.Addr().Interface().(type) {
	case *netip.Prefix:
		*p, err = bans.ParsePrefix(text)
		return err
	case *netip.Addr:
		if *p, err = netip.ParseAddr(text); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return err
	case *netip.AddrPort:
		if *p, err = netip.ParseAddrPort(text); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return err
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(text))
	case *bool:
		if *p, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%s is neither true nor false", name)
		}
		return nil
	case *string:
		*p = text
		return nil
	case *uint64:
		*p, err = strconv.ParseUint(text, 10, 64)
	default:
		var n int64
		if n, err = strconv.ParseInt(text, 10, 32); err == nil && n < 0 && text != byDefault {
			err = strconv.ErrRange
		}
		switch {
		case !v.CanUint():
			v.SetInt(n)
		case err == nil && v.OverflowUint(uint64(n)):
			err = strconv.ErrRange
		default:
			v.SetUint(uint64(max(n, 0)))
		}
	}
	if err != nil {
		return fmt.Errorf("%s is not a number", name)
	}
	return nil
}
