//! Reference material: examples, rule explanations, schema, completions, manual pages and documentation.

use crate::common::{EXAMPLES, folder, ichor, root};

#[test]
fn folders_created_from_examples_pass_check() {
    for example in EXAMPLES {
        let folder = folder(&[]);
        let made = ichor(folder.path(), &format!("new sol --like {example}"));
        let checked = ichor(&folder.path().join("sol"), "check --deny warnings");

        assert_eq!((made.code, made.stdout.as_str()), (0, "sol/ichor.yaml\n"), "{example}");
        assert_eq!(checked.code, 0, "{example}: {}", checked.stdout);
    }
}

#[test]
fn an_existing_cluster_folder_is_not_overwritten() {
    let folder = folder(&[("sol/ichor.yaml", "mine\n")]);
    let run = ichor(folder.path(), "new sol");

    assert_eq!(run.code, 2);
    assert_eq!(run.stderr, "error: sol/ichor.yaml already exists; choose another folder\n");
    assert_eq!(std::fs::read_to_string(folder.path().join("sol/ichor.yaml")).unwrap(), "mine\n");
}

#[test]
fn a_rule_is_explained_and_a_misspelt_one_has_a_suggestion() {
    let folder = folder(&[]);
    let known = ichor(folder.path(), "explain asn-public");
    let misspelt = ichor(folder.path(), "explain asn-publik");

    assert!(known.stdout.starts_with("warning[asn-public]: "), "{}", known.stdout);
    assert!(known.stdout.contains("\nfix: "), "{}", known.stdout);
    assert_eq!(
        (misspelt.code, misspelt.stderr.as_str()),
        (2, "error: unknown rule `asn-publik`; did you mean `asn-public`?\n")
    );
    assert!(ichor(folder.path(), "explain --json").json().as_array().unwrap().len() > 50);
}

#[test]
fn the_schema_is_json() {
    let folder = folder(&[]);

    assert_eq!(ichor(folder.path(), "schema").json()["title"], "ichor cluster file");
}

#[test]
fn completions_and_manuals_name_the_commands() {
    let folder = folder(&[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(ichor(folder.path(), &format!("completions {shell}")).stdout.contains("check"), "{shell}");
    }
    assert!(ichor(folder.path(), "man").stdout.contains(".TH ichor 1"));
    assert!(ichor(folder.path(), "man check").stdout.contains("junit"));
    assert_eq!(ichor(folder.path(), "man -o pages").code, 0);
    assert!(folder.path().join("pages/ichor-check.1").exists());
}

#[test]
fn clusters_in_the_documentation_pass_check() {
    let mut found = 0;
    for document in
        ["README.md", "docs/cluster-file.md", "docs/how-to/create-machines.md", "docs/how-to/build-images.md"]
    {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        for block in
            text.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block)
        {
            if block.starts_with("cluster:") {
                let folder = folder(&[("ichor.yaml", block)]);
                let run = ichor(folder.path(), "check --deny warnings");

                assert_eq!(run.code, 0, "{document}: {}", run.stdout);
                found += 1;
            }
        }
    }
    assert!(found >= 4, "only {found} clusters in the documents");
}

#[test]
fn the_command_output_in_the_readme_is_current() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let block = |start: &str| text.split_once(start).unwrap().1.split_once("```").unwrap().0;
    let folder = folder(&[("ichor.yaml", block("```yaml\n"))]);
    let (command, printed) = block("```console\n$ ichor ").split_once('\n').unwrap();

    assert_eq!(ichor(folder.path(), command).stdout, printed);
}

#[test]
fn commands_in_the_guides_are_valid() {
    let folder = folder(&[]);
    let mut found = 0;
    for guide in std::fs::read_dir(root().join("docs/how-to")).unwrap() {
        let guide = guide.unwrap().path();
        let text = std::fs::read_to_string(&guide).unwrap().replace("\\\n", " ");
        let lines = text.split("```").skip(1).step_by(2).flat_map(str::lines);
        for line in lines.filter_map(|line| line.trim_start_matches("$ ").strip_prefix("ichor ")) {
            let words = line.split(['#', '|', '>']).next().unwrap().split(" -- ").next().unwrap();
            // A quoted value counts as one argument, and a fingerprint has 32 bytes.
            let words =
                words.replace("\"$(cat meta-10.yaml)\"", "x").replace("BASE64", &format!("{:A<43}=", ""));
            let run = ichor(folder.path(), &format!("{words} --help"));
            assert_eq!(run.code, 0, "{}: ichor {line}: {}", guide.display(), run.stderr);
            found += 1;
        }
    }
    assert!(found >= 80, "only {found} commands in the guides");
}
