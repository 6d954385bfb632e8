package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func accountExport(con *cli.Console) *cobra.Command {
	in := new(operator.AccountExport)
	return exporting(con, operator.ExportAccounts, in, func() string {
		if in.Secrets {
			return "; it holds secrets, keep it safe"
		}
		return ""
	})
}

// exporting returns the command of an operation that writes records to the file that is its last argument. note returns
// what else the line about the file says.
func exporting[In any](con *cli.Console, o *operator.Stream[In], in *In, note func() string) *cobra.Command {
	cmd := cli.CommandOf(con, &o.Operation, in, func(ctx context.Context, c operator.Conn, args []string) error {
		return export(con, args[len(args)-1], note(), func(w io.Writer) (int, error) { return o.Call(ctx, c, *in, w) })
	})
	cmd.Use, cmd.Args = cmd.Use+" FILE", cli.Usage(cobra.ExactArgs(1))
	return cmd
}

// export writes an export to a file, or to standard output if the path is -. write
// returns the number of unreadable records; note ends the line that reports the file.
func export(con *cli.Console, path, note string, write func(io.Writer) (leftOut int, err error)) error {
	leftOut := 0
	if path == "-" {
		leftOut, err := write(con.Out)
		return errors.Join(err, someLeftOut(leftOut))
	}
	m := con.Meter(0)
	size, err := backup.Replace(path, func(w io.Writer) (err error) {
		defer m.End()
		leftOut, err = write(io.MultiWriter(w, m))
		return err
	})
	if err != nil {
		return fmt.Errorf("no export written: %w", err)
	}
	return errors.Join(con.Say("wrote %s (%d bytes)%s", path, size, note), someLeftOut(leftOut))
}

func accountImport(con *cli.Console) *cobra.Command {
	cmd := importCommand(con, operator.ImportAccounts.What,
		func(ctx context.Context, op operator.Conn, in io.Reader) error {
			return importAccounts(ctx, con, op, in)
		})
	cmd.Long = cmd.Short + ".\n\n" +
		"An import that was cut short can be repeated: profiles that have neither buddies nor blocks get those of the file, " +
		"and so do profiles without data of games. Records of games keep their ids; one whose id is in use is left out. " +
		"Files and matches of an export are not imported: a backup restores them."
	return cmd
}

// importCommand returns a command that reads a file; - is standard input.
func importCommand(con *cli.Console, short string, read func(context.Context, operator.Conn, io.Reader) error) *cobra.Command {
	return con.OperatorCommand("import FILE", short, cobra.ExactArgs(1), func(ctx context.Context, c operator.Conn, args []string) error {
		if args[0] == "-" {
			return read(ctx, c, con.In)
		}
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in, m := con.Reading(f)
		defer m.End()
		return read(ctx, c, in)
	})
}

// maxImportData is how much data of games a batch of accounts has before it is
// stored, in bytes.
const maxImportData = 4 << 20

// importAccounts stores accounts as it reads them, and the data of games with
// them. Buddies come last, because they may be of accounts further down. An
// interrupted import can be repeated: existing accounts get the missing parts.
func importAccounts(ctx context.Context, con *cli.Console, op operator.Conn, in io.Reader) error {
	var later, batch []accounts.Account // later: only the parts that ImportBuddies needs
	stored, refused, data := 0, 0, 0
	flush := func() error {
		results, err := operator.ImportAccounts.Call(ctx, op, operator.AccountImport{Accounts: withoutData(batch)})
		if err == nil && len(results) != len(batch) {
			err = fmt.Errorf("the daemon answered about %d accounts of %d", len(results), len(batch))
		}
		if err != nil {
			return err
		}
		var played []accounts.Account
		first := stored + refused + 1
		for i, r := range results {
			if r.Error != "" {
				refused++
				_, _ = fmt.Fprintf(con.Err, "account %d, %s: %s\n", first+i, cli.Printable(batch[i].Email), r.Error)
			} else {
				stored++
			}
			later = append(later, withBuddies(batch[i], r.Profiles)...)
			played = append(played, withData(batch[i], r.Profiles)...)
		}
		batch, data = batch[:0], 0
		if played == nil {
			return nil
		}
		return importBuddies(ctx, op, played)
	}
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	for {
		var a accounts.Account
		err := decoder.Decode(&a)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("account %d of the file, after %d that were stored: %w", stored+refused+len(batch)+1, stored, err)
		}
		batch = append(batch, a)
		if data += dataSize(&a); len(batch) == operator.MaxAccountPage || data > maxImportData {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := importBuddies(ctx, op, later); err != nil {
		return err
	}
	if err := con.Say("imported %d accounts, refused %d", stored, refused); err != nil || refused == 0 {
		return err
	}
	return cli.Reported(errors.New("accounts were refused"))
}

func importBuddies(ctx context.Context, c operator.Conn, list []accounts.Account) error {
	return operator.InParts(list, operator.MaxImport, func(part []accounts.Account) error {
		return operator.ImportBuddies.Exec(ctx, c, operator.AccountImport{Accounts: part})
	})
}

// withBuddies returns the account with its buddies, under the ids that it has
// now, and without the rest; nothing if it has none.
func withBuddies(a accounts.Account, ids []storage.ProfileID) []accounts.Account {
	out := accounts.Account{ID: a.ID, Email: a.Email}
	for i, p := range a.Profiles {
		if i < len(ids) && len(p.Buddies)+len(p.Blocks) > 0 {
			out.Profiles = append(out.Profiles, accounts.AccountProfile{
				Profile: storage.Profile{ID: ids[i]}, Buddies: p.Buddies, Blocks: p.Blocks,
			})
		}
	}
	if out.Profiles == nil {
		return nil
	}
	return []accounts.Account{out}
}

// withData returns the data of games of an account, under the ids that its profiles
// have now: one account for each profile and part of its records, because a request
// has a limited size.
func withData(a accounts.Account, ids []storage.ProfileID) (all []accounts.Account) {
	add := func(p accounts.AccountProfile) {
		all = append(all, accounts.Account{ID: a.ID, Email: a.Email, Profiles: []accounts.AccountProfile{p}})
	}
	for i, p := range a.Profiles[:min(len(a.Profiles), len(ids))] {
		id := storage.Profile{ID: ids[i]}
		if len(p.GameData)+len(p.Scores) > 0 {
			add(accounts.AccountProfile{Profile: id, GameData: p.GameData, Scores: p.Scores})
		}
		for records := p.Records; len(records) > 0; {
			n, size := 1, recordSize(&records[0])
			for n < len(records) && size < maxImportData/2 {
				size += recordSize(&records[n])
				n++
			}
			add(accounts.AccountProfile{Profile: id, Records: records[:n]})
			records = records[n:]
		}
	}
	return all
}

// withoutData returns the accounts without the data of games.
func withoutData(list []accounts.Account) []accounts.Account {
	list = slices.Clone(list)
	for i := range list {
		list[i].Profiles = slices.Clone(list[i].Profiles)
		for j := range list[i].Profiles {
			p := &list[i].Profiles[j]
			p.GameData, p.Scores, p.Records, p.Files, p.Matches = nil, nil, nil, nil, nil
		}
	}
	return list
}

// dataSize returns the length of the data of games of an account in bytes.
func dataSize(a *accounts.Account) (n int) {
	for i := range a.Profiles {
		for j := range a.Profiles[i].GameData {
			n += len(a.Profiles[i].GameData[j].Data)
		}
		for j := range a.Profiles[i].Records {
			n += recordSize(&a.Profiles[i].Records[j])
		}
	}
	return n
}

// recordSize returns about the length of a record in an import, in bytes.
func recordSize(r *storage.OwnedSakeRecord) (n int) {
	for i := range r.Fields {
		n += 32 + len(r.Fields[i].Name) + len(r.Fields[i].Value.Text)
	}
	return n + 128
}
