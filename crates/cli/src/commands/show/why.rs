//! `show --why`: where a value comes from.

use std::io::Write;
use std::process::ExitCode;

use ichor_core::plan::why::{ValueExplanation, ValueSource, why};
use ichor_values::Location;
use serde_json::{Value, json};

use crate::project::Project;
use crate::{report, style};

pub(super) fn run(
    project: &Project,
    path: &str,
    as_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let why = why(&project.cluster, &project.plan, path)?;
    if as_json {
        writeln!(out, "{:#}", object(project, &why))?;
    } else {
        print(project, &why, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(project: &Project, why: &ValueExplanation, out: &mut dyn Write) -> anyhow::Result<()> {
    let (bold, reset) = (style::BOLD, style::BOLD.render_reset());
    writeln!(out, "{} = {bold}{}{reset}", why.path, why.value.as_deref().unwrap_or("(not set)"))?;
    match &why.cause {
        ValueSource::Line(place) => {
            writeln!(out, "  written at {}", project.sources.locate(*place))?;
            quote(project, *place, out)?;
        }
        ValueSource::Default(reason) => writeln!(out, "  default: {reason}")?,
        ValueSource::Rule { rule, inputs } => {
            writeln!(out, "  derived: {rule}")?;
            let width =
                inputs.iter().map(|input| input.name.len() + input.value.len()).max().unwrap_or(0) + 3;
            for input in inputs {
                let pair = format!("{} = {}", input.name, input.value);
                let from =
                    input.place.map_or_else(|| "derived".to_owned(), |place| project.sources.locate(place));
                writeln!(out, "    {pair:width$}  {from}")?;
            }
        }
    }
    Ok(())
}

fn quote(project: &Project, place: Location, out: &mut dyn Write) -> anyhow::Result<()> {
    if let Some(line) = project.sources.line(place) {
        let line: String = line.trim().chars().take(100).collect();
        writeln!(out, "    {}{line}{}", style::DIM, style::DIM.render_reset())?;
    }
    Ok(())
}

fn object(project: &Project, why: &ValueExplanation) -> Value {
    let location = |place: Location| report::location_json(&project.sources, place);
    let origin = match &why.cause {
        ValueSource::Line(place) => Value::Object(location(*place)),
        ValueSource::Default(reason) => json!({"default": reason}),
        ValueSource::Rule { rule, inputs } => {
            let inputs: Vec<_> = inputs
                .iter()
                .map(|input| {
                    let mut object = json!({"name": input.name, "value": input.value});
                    let location = input.place.map(location).unwrap_or_default();
                    object.as_object_mut().expect("an object").extend(location);
                    object
                })
                .collect();
            json!({"rule": rule, "inputs": inputs})
        }
    };
    json!({"path": why.path, "value": why.value, "origin": origin})
}
