//! `cargo xtask corpus`: every class of many jars and of every JDK goes through reader and engine.
//!
//! The work itself is done by the example `corpus` of the package `cli`; here the classes are brought together.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, execute, maven};
use crate::{jdks, link, prerequisites, project};

/// `corpus [--sample | --link | --link-sites] [--jdk FEATURE]... [JAR...]`: the jars named, or those of bench/corpus/jars.txt.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let wanted = Wanted::parse(arguments)?;
    if wanted.sample {
        return sample();
    }
    let jars = if wanted.jars.is_empty() { fetched_jars()? } else { wanted.jars };
    if wanted.link || wanted.link_sites {
        return link::run(&jars, &wanted.features, wanted.link_sites);
    }
    let mut check = example_with_jdks(&wanted.features);
    check.args(&jars);
    execute(&mut check)
}

#[derive(Debug, Default)]
struct Wanted {
    sample: bool,
    link: bool,
    link_sites: bool,
    /// Feature versions of the JDKs; all if none is named.
    features: Vec<u16>,
    jars: Vec<PathBuf>,
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Wanted> {
        let mut wanted = Wanted::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--sample" => wanted.sample = true,
                "--link" => wanted.link = true,
                "--link-sites" => wanted.link_sites = true,
                "--jdk" => {
                    let feature = arguments.next().context("--jdk needs a version such as 17")?;
                    let number = feature.parse().with_context(|| format!("--jdk: `{feature}` is not a version"))?;
                    wanted.features.push(number);
                }
                option if option.starts_with('-') => bail!("`corpus` does not know `{option}`"),
                jar => wanted.jars.push(PathBuf::from(jar)),
            }
        }
        Ok(wanted)
    }
}

/// The fixed part that is quick enough for every test run: `java.base` of each JDK found.
pub(crate) fn sample() -> Result<()> {
    execute(example_with_jdks(&[]).arg("--sample"))
}

/// The example of the package `cli` that does the work.
pub(crate) fn example() -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--package", "cli", "--example", "corpus", "--"]);
    command
}

fn example_with_jdks(features: &[u16]) -> Command {
    let mut command = example();
    for home in jdks::one_of_each() {
        if features.is_empty() || features.contains(&home.feature()) {
            command.arg("--jdk").arg(home.path());
        }
    }
    command
}

fn fetched_jars() -> Result<Vec<PathBuf>> {
    let directory = project::root().join("target").join("corpus");
    let list = project::root().join("bench/corpus/jars.txt");
    let text = fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    fetch(&directory, &text)?;
    let mut jars = Vec::new();
    for entry in fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jar") {
            jars.push(path);
        }
    }
    jars.sort();
    Ok(jars)
}

/// Maven copies the artefacts; a stamp with the list's text records that it has been done.
fn fetch(directory: &Path, list: &str) -> Result<()> {
    let stamp = directory.join("fetched.txt");
    if fs::read_to_string(&stamp).is_ok_and(|fetched| fetched == list) {
        return Ok(());
    }
    let java = prerequisites::check()?;
    fs::create_dir_all(directory)?;
    let project_file = directory.join("pom.xml");
    fs::write(&project_file, maven_project(list, directory)?)?;
    let mut copy = maven(java.path());
    copy.arg("--quiet").arg("--file").arg(&project_file).arg("dependency:copy");
    execute(&mut copy)?;
    fs::write(stamp, list).context("noting what was fetched")
}

fn maven_project(list: &str, directory: &Path) -> Result<String> {
    let items = coordinates(list).map(artifact_item).collect::<Result<Vec<_>>>()?.concat();
    Ok(format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\n\
         <groupId>io.instr</groupId><artifactId>corpus</artifactId><version>1</version><packaging>pom</packaging>\n\
         <build><plugins><plugin><artifactId>maven-dependency-plugin</artifactId><version>3.8.1</version><configuration>\n\
         <outputDirectory>{}</outputDirectory><prependGroupId>true</prependGroupId>\n\
         <artifactItems>\n{items}</artifactItems></configuration></plugin></plugins></build></project>\n",
        directory.display()
    ))
}

fn coordinates(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter_map(|line| line.split('#').next()?.split_whitespace().next())
}

fn artifact_item(coordinates: &str) -> Result<String> {
    let parts: Vec<_> = coordinates.split(':').collect();
    let (group, artifact, version, kind, classifier) = match parts.as_slice() {
        [group, artifact, version] => (group, artifact, version, "jar", ""),
        [group, artifact, version, kind] => (group, artifact, version, *kind, ""),
        [group, artifact, version, kind, classifier] => (group, artifact, version, *kind, *classifier),
        _ => bail!("`{coordinates}` is not group:artifact:version[:type[:classifier]]"),
    };
    let classifier =
        if classifier.is_empty() { String::new() } else { format!("<classifier>{classifier}</classifier>") };
    Ok(format!(
        "<artifactItem><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>\
         <type>{kind}</type>{classifier}</artifactItem>\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_jars_in_any_order() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let wanted = Wanted::parse(&words("a.jar --link --jdk 17 --jdk 25 b.jar")).unwrap();
        assert!(wanted.link && !wanted.sample);
        assert_eq!((wanted.features, wanted.jars.len()), (vec![17, 25], 2));
        assert!(wanted.link_sites ^ Wanted::parse(&words("--link-sites")).unwrap().link_sites);
        assert!(Wanted::parse(&words("--jdk seventeen")).is_err());
        assert!(Wanted::parse(&words("--every")).is_err());
    }

    #[test]
    fn the_list_has_comments_and_optional_parts() {
        let list = "# title\na:b:1  # why\n\nc:d:2:jar:indy\n";
        assert_eq!(coordinates(list).collect::<Vec<_>>(), ["a:b:1", "c:d:2:jar:indy"]);
        assert!(artifact_item("c:d:2:jar:indy").unwrap().contains("<classifier>indy</classifier>"));
        assert!(!artifact_item("a:b:1").unwrap().contains("classifier"));
        assert!(artifact_item("a:b").is_err());
    }
}
