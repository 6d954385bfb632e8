package operator

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/noun"
)

// An Operation is something that an operator can do, declared once: the route of the API with
// its handler and its client, the entry of the list of routes, the command with its arguments,
// flags and help, and the action in the audit log follow from it and from the tags of its input,
// see [Field]. Tables and sentences for people stand beside the command.
type Operation struct {
	// Name is that of the command, such as "ban add". Operations without a command have a
	// name like one.
	Name string
	// Route is the method and the path below /api/v1, such as "DELETE /rooms/{id}".
	Route string
	// What says what it does: a sentence without its period, in the list of routes and in the command's help.
	What string
	// Help is the command's help where What does not do for it.
	Help string
	// AtMost is how many records one request lists or takes, which the list of routes tells; 0: any number. Commands
	// make as many requests as they need.
	AtMost int
	// About is what it is about: where that does not exist, the list of routes leaves it out.
	About noun.Noun
	// Action is its action in the audit log, by default its name with a dot for the space.
	Action string
	// Slow operations may take longer than a minute.
	Slow bool
	// Destroys what cannot be put back: the command asks first.
	Destroys bool
	// Type is the Content-Type of a [Stream].
	Type string

	input  reflect.Type
	output reflect.Type // nil: it is a Stream
	run    func(context.Context, *Local, any) (any, error)
	write  func(context.Context, *Local, any, io.Writer) (leftOut int, err error)
}

// A Conn is where operations are carried out: a Local in this process, or a client of a running
// daemon. The errors that callers decide by are the same.
type Conn interface {
	// Do carries out an operation with an input of its type, and returns an output of its type.
	Do(ctx context.Context, o *Operation, in any) (out any, err error)
	// Write carries out an operation whose output is a stream, and returns the number of records
	// that could not be read and were left out.
	Write(ctx context.Context, o *Operation, in any, w io.Writer) (leftOut int, err error)
}

// None is the input of an operation that needs none.
type None struct{}

// An Op is an Operation with its types.
type Op[In, Out any] struct{ Operation }

// Lines is the type of a Stream of one value of JSON on each line. It ends with the number of
// records that were left out.
const Lines = "application/x-ndjson"

// A Stream is an Operation whose output is of any length.
type Stream[In any] struct{ Operation }

var operations []*Operation

// New declares an operation, for a variable of this package.
func New[In, Out any](o Operation, run func(context.Context, *Local, In) (Out, error)) *Op[In, Out] {
	op := &Op[In, Out]{o}
	op.input, op.output = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	op.run = func(ctx context.Context, l *Local, in any) (any, error) { return run(ctx, l, in.(In)) }
	operations = append(operations, &op.Operation)
	return op
}

// NewStream declares an operation whose output is a stream, for a variable of this package.
func NewStream[In any](o Operation, write func(context.Context, *Local, In, io.Writer) (leftOut int, err error)) *Stream[In] {
	op := &Stream[In]{o}
	op.input = reflect.TypeFor[In]()
	op.write = func(ctx context.Context, l *Local, in any, w io.Writer) (int, error) {
		return write(ctx, l, in.(In), w)
	}
	operations = append(operations, &op.Operation)
	return op
}

// Operations returns all operations, in the order of their paths.
func Operations() []*Operation {
	return slices.SortedFunc(slices.Values(operations), func(a, b *Operation) int {
		return cmp.Or(strings.Compare(a.Path(), b.Path()), strings.Compare(a.Method(), b.Method()))
	})
}

// As returns the operation for a command with a name and a help of its own.
func (o *Op[In, Out]) As(name, help string) *Op[In, Out] {
	other := *o
	other.Name, other.Help, other.Action = name, help, o.action()
	return &other
}

// Call carries out the operation.
func (o *Op[In, Out]) Call(ctx context.Context, c Conn, in In) (out Out, err error) {
	v, err := c.Do(ctx, &o.Operation, in)
	out, _ = v.(Out) // the zero value with an error
	return out, err
}

// Exec is Call for callers who need no output.
func (o *Op[In, Out]) Exec(ctx context.Context, c Conn, in In) error {
	_, err := o.Call(ctx, c, in)
	return err
}

// Call carries out the operation and writes its output to w.
func (o *Stream[In]) Call(ctx context.Context, c Conn, in In, w io.Writer) (leftOut int, err error) {
	return c.Write(ctx, &o.Operation, in, w)
}

// Do implements Conn.
func (l *Local) Do(ctx context.Context, o *Operation, in any) (any, error) {
	return o.run(withAction(ctx, o.action()), l, in)
}

// Write implements Conn.
func (l *Local) Write(ctx context.Context, o *Operation, in any, w io.Writer) (leftOut int, err error) {
	return o.write(withAction(ctx, o.action()), l, in, w)
}

func (o *Operation) action() string {
	return cmp.Or(o.Action, strings.ReplaceAll(o.Name, " ", "."))
}

// Method returns the method of the route.
func (o *Operation) Method() string {
	method, _, _ := strings.Cut(o.Route, " ")
	return method
}

// Path returns the path of the route, with {id} or {name} for the part that varies.
func (o *Operation) Path() string {
	_, path, _ := strings.Cut(o.Route, " ")
	return "/api/v1" + path
}

// IsStream reports whether the output is a stream.
func (o *Operation) IsStream() bool { return o.output == nil }

// Described returns what the operation does, with the parameters of its request.
func (o *Operation) Described() string {
	first, size := utf8.DecodeRuneInString(o.What)
	text := string(unicode.ToLower(first)) + o.What[size:]
	if o.AtMost > 0 {
		text = fmt.Sprintf("%s, at most %d", text, o.AtMost)
	}
	var names []string
	for _, f := range o.Fields() {
		switch {
		case f.Query != "":
			names = append(names, "?"+f.Query+"=")
		case f.JSON != "":
			names = append(names, f.JSON)
		}
	}
	if names == nil {
		return text
	}
	return text + ": " + strings.Join(names, ", ")
}
