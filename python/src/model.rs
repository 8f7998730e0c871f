//! Trained networks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bundlenet::{Architecture, Precision};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use crate::convert::{deserialized, real_array, serialized};
use crate::failure::exception;

/// A network for the methods `auto`, `hybrid` and `network`.
#[pyclass(module = "bundlenet")]
pub(crate) struct Model {
    model: Arc<bundlenet::Model>,
}

impl Model {
    pub(crate) fn new(model: bundlenet::Model) -> Self {
        Self { model: Arc::new(model) }
    }

    pub(crate) fn shared(&self) -> Arc<bundlenet::Model> {
        Arc::clone(&self.model)
    }

    fn bytes(&self) -> PyResult<Vec<u8>> {
        Ok(self.model.to_bytes(Precision::Single)?)
    }
}

#[pymethods]
impl Model {
    /// The built-in general model. It was trained on instances of many kinds and sizes.
    #[staticmethod]
    fn general() -> Self {
        Self { model: bundlenet::Model::general() }
    }

    /// An untrained network. `architecture` has the entries of the table `network` of a training configuration.
    #[staticmethod]
    #[pyo3(signature = (architecture=None, *, seed=0))]
    fn untrained(architecture: Option<&Bound<'_, PyAny>>, seed: u64) -> PyResult<Self> {
        let architecture: Architecture = match architecture {
            Some(architecture) => deserialized(architecture, "architecture")?,
            None => Architecture::default(),
        };
        architecture.check().map_err(exception)?;
        Ok(Self::new(bundlenet::Model::untrained(&architecture, seed)))
    }

    /// Reads a checkpoint.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| bundlenet::Model::load(path)).map(Self::new).map_err(exception)
    }

    /// Writes a checkpoint. A weight has 16 bits if `half` is true, and 32 bits otherwise.
    #[pyo3(signature = (path, *, half=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, half: bool) -> PyResult<()> {
        let precision = if half { Precision::Half } else { Precision::Single };
        py.detach(|| self.model.save(path, precision)).map_err(exception)
    }

    /// The weights as numpy arrays. Their names are those of the same layers in PyTorch. The guard is no weight: it stays
    /// with its model.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let bytes = self.bytes()?;
        let tensors = parse(&bytes)?;
        let state = PyDict::new(py);
        let mut names: Vec<&str> = tensors.names().into_iter().filter(|name| !is_guard(name)).collect();
        names.sort_unstable();
        for name in names {
            let tensor = tensors.tensor(name).map_err(wrong)?;
            let data = tensor.data();
            let shape = tensor.shape().to_vec();
            let array = match tensor.dtype() {
                Dtype::F64 => {
                    let numbers: Vec<f64> = data.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
                    numbers.into_pyarray(py).reshape(shape)?.into_any()
                }
                _ => {
                    let numbers: Vec<f32> = data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
                    numbers.into_pyarray(py).reshape(shape)?.into_any()
                }
            };
            state.set_item(name, array)?;
        }
        Ok(state)
    }

    /// Replaces the weights. `state` maps the names of `state_dict` to arrays, or to tensors in the memory of the CPU.
    fn load_state_dict(&mut self, state: &Bound<'_, PyMapping>) -> PyResult<()> {
        let bytes = self.bytes()?;
        let own = parse(&bytes)?;
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(wrong)?;
        let mut tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)> = BTreeMap::new();
        for (name, tensor) in own.tensors().into_iter().filter(|(name, _)| is_guard(name)) {
            tensors.insert(name, (tensor.dtype(), tensor.shape().to_vec(), tensor.data().to_vec()));
        }
        for item in state.items()? {
            let (name, array): (String, Bound<'_, PyAny>) = item.extract()?;
            let Some(tensor) = own.tensor(&name).ok().filter(|_| !is_guard(&name)) else {
                let expected = own.names().iter().filter(|name| !is_guard(name)).count();
                return Err(PyValueError::new_err(format!(
                    "state_dict: expected the {expected} tensors of this architecture, found {name} as well"
                )));
            };
            let array = real_array(&array, &name, tensor.shape().len())?;
            let numbers: Vec<f64> = crate::convert::vector(&array.call_method0("ravel")?, &name)?;
            let shape = array.getattr("shape")?.extract()?;
            let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            tensors.insert(name, (Dtype::F64, shape, bytes));
        }
        let views: Result<Vec<_>, _> = tensors
            .iter()
            .map(|(name, (dtype, shape, bytes))| Ok((name, TensorView::new(*dtype, shape.clone(), bytes)?)))
            .collect();
        let bytes = views.and_then(|views| safetensors::serialize(views, header.metadata().clone())).map_err(wrong)?;
        *self = Self::new(bundlenet::Model::from_bytes(Path::new("state_dict"), &bytes).map_err(exception)?);
        Ok(())
    }

    /// The shape of the network, with the entries of the table `network` of a training configuration.
    #[getter]
    fn architecture<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        serialized(py, self.model.architecture())
    }

    /// Its name, the data it was trained on, and its mean gaps in percent on validation data.
    #[getter]
    fn card<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        serialized(py, self.model.card())
    }

    /// Number of weights.
    #[getter]
    fn weight_count(&self) -> usize {
        self.model.weight_count()
    }

    fn __repr__(&self) -> String {
        format!("Model({:?}, weight_count={})", self.model.card().name, self.model.weight_count())
    }

    #[staticmethod]
    fn _from_bytes(bytes: &[u8]) -> PyResult<Self> {
        bundlenet::Model::from_bytes(Path::new("bytes"), bytes).map(Self::new).map_err(exception)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = PyBytes::new(py, &self.bytes()?);
        Ok((py.get_type::<Self>().getattr("_from_bytes")?, (bytes,)))
    }
}

/// Whether a tensor belongs to the guard.
fn is_guard(name: &str) -> bool {
    name.starts_with("guard.")
}

fn parse(bytes: &[u8]) -> PyResult<SafeTensors<'_>> {
    SafeTensors::deserialize(bytes).map_err(wrong)
}

fn wrong(error: safetensors::SafeTensorError) -> PyErr {
    PyValueError::new_err(format!("state_dict: {error}"))
}
