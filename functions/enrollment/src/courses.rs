//! Reading courses, by way of what the environment remembers of them.

use std::collections::HashMap;
use std::sync::Arc;

use platform::cache::Cache;
use platform::table::Read;
use platform::{App, Problem};

use crate::course::{Course, LIFETIME_MS};
use crate::ids::CourseId;
use crate::{TABLE, keys};

/// Courses that this environment has read.
struct Known(Cache<CourseId, Arc<Course>>);

impl Default for Known {
    fn default() -> Self {
        Self(Cache::new(10_000, LIFETIME_MS))
    }
}

/// A course, at most [`LIFETIME_MS`] old.
pub async fn get(app: &App, id: CourseId) -> Result<Option<Arc<Course>>, Problem> {
    match app.memory::<Known>().0.get(&id, app.clock.now()) {
        Some(course) => Ok(Some(course)),
        None => get_fresh(app, id).await,
    }
}

/// A course as it is now.
pub async fn get_fresh(app: &App, id: CourseId) -> Result<Option<Arc<Course>>, Problem> {
    let now = app.clock.now();
    let item = app.table(TABLE).get(keys::course(id), Read::Consistent).await?;
    let course = item.map(Course::from_item).transpose()?.map(Arc::new);
    if let Some(course) = &course {
        app.memory::<Known>().0.put(id, now, Arc::clone(course));
    }
    Ok(course)
}

/// The courses of `ids` that exist, at most [`LIFETIME_MS`] old.
pub async fn get_many(
    app: &App,
    ids: &[CourseId],
) -> Result<HashMap<CourseId, Arc<Course>>, Problem> {
    let (known, now) = (app.memory::<Known>(), app.clock.now());
    let found = ids.iter().filter_map(|id| Some((*id, known.0.get(id, now)?)));
    let mut courses: HashMap<_, _> = found.collect();
    let unknown: Vec<CourseId> =
        ids.iter().copied().filter(|id| !courses.contains_key(id)).collect();
    courses.extend(get_many_fresh(app, &unknown).await?);
    Ok(courses)
}

/// The courses of `ids` that exist, as they are now.
pub async fn get_many_fresh(
    app: &App,
    ids: &[CourseId],
) -> Result<HashMap<CourseId, Arc<Course>>, Problem> {
    let (known, now) = (app.memory::<Known>(), app.clock.now());
    let keys = ids.iter().copied().map(keys::course).collect();
    let items = app.table(TABLE).batch_get(keys, Read::Consistent).await?;
    let courses = items.into_iter().map(|item| {
        let course = Arc::new(Course::from_item(item)?);
        known.0.put(course.course_id, now, Arc::clone(&course));
        Ok((course.course_id, course))
    });
    courses.collect()
}
